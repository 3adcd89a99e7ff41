package io.joinless.bench

import java.io.BufferedReader
import java.nio.file.{Files, Path}
import java.util.Arrays
import scala.jdk.CollectionConverters._

/** Changes of edges in their order; `weights` are 1 and −1. */
final class EdgeBatch(val weights: Array[Byte], val src: Array[Long], val dst: Array[Long]) {
  def size: Int = src.length
}

object EdgeBatch {

  def insertions(src: Array[Long], dst: Array[Long]): EdgeBatch = new EdgeBatch(Array.fill(src.length)(1), src, dst)
}

/** Streams of edges: `batches(b)(i)` is batch b of input i. */
final case class EdgeStream(batches: IndexedSeq[IndexedSeq[EdgeBatch]]) {

  def first(n: Int): EdgeStream = EdgeStream(batches.take(n))

  def deletes: Boolean = batches.exists(_.exists(_.weights.contains(-1)))
}

object EdgeStream {

  /** Reads one input per folder, each file a batch: lines `src,dst` or `insert|delete,src,dst`,
    * read in the order of the names.
    */
  def read(folders: IndexedSeq[Path], batches: Int): EdgeStream = EdgeStream(
    folders.map(files(_).take(batches).map(readBatch)).transpose
  )

  /** The edges of one input in batches of equal size; with `window` each edge is deleted that many
    * batches after its insert.
    */
  def of(src: Array[Long], dst: Array[Long], batches: Int, window: Option[Int]): EdgeStream = {
    def border(b: Int) = (src.length.toLong * b / batches).toInt
    EdgeStream((0 until batches).map { b =>
      val old = window.fold(0 until 0)(w => border(math.max(0, b - w)) until border(math.max(0, b - w + 1)))
      val deleted = if (window.exists(b >= _)) old else 0 until 0
      val rows = deleted ++ (border(b) until border(b + 1))
      val weights = Array.tabulate[Byte](rows.size)(i => if (i < deleted.size) -1 else 1)
      IndexedSeq(new EdgeBatch(weights, rows.map(src).toArray, rows.map(dst).toArray))
    })
  }

  /** The batch files of a folder, in their order. */
  private[bench] def files(folder: Path): IndexedSeq[Path] = {
    val all = Files.list(folder)
    try all.iterator.asScala.filter(_.toString.endsWith(".csv")).toIndexedSeq.sorted
    finally all.close()
  }

  private def readBatch(file: Path): EdgeBatch = {
    val reader = Files.newBufferedReader(file)
    try readBatch(reader)
    finally reader.close()
  }

  private def readBatch(reader: BufferedReader): EdgeBatch = {
    var weights = new Array[Byte](16)
    var src, dst = new Array[Long](16)
    var size = 0
    var line = reader.readLine()
    while (line != null) {
      if (size == src.length) {
        weights = Arrays.copyOf(weights, 2 * size); src = Arrays.copyOf(src, 2 * size);
        dst = Arrays.copyOf(dst, 2 * size)
      }
      val last = line.lastIndexOf(',')
      val first = line.lastIndexOf(',', last - 1) + 1
      weights(size) = if (line.startsWith("delete")) -1 else 1
      src(size) = java.lang.Long.parseLong(line, first, last, 10)
      dst(size) = java.lang.Long.parseLong(line, last + 1, line.length, 10)
      size += 1
      line = reader.readLine()
    }
    new EdgeBatch(Arrays.copyOf(weights, size), Arrays.copyOf(src, size), Arrays.copyOf(dst, size))
  }
}
