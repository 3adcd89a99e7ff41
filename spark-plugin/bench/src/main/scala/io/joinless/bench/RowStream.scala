package io.joinless.bench

import java.nio.file.{Files, Path}
import java.util.Arrays

/** Changes of rows of integers in their order; row i is
  * `values(i · columns until (i + 1) · columns)`.
  *
  * `weights` are 1 and −1; NULL is [[RowBatch.Null]].
  */
final class RowBatch(val columns: Int, val weights: Array[Byte], val values: Array[Long]) {
  def size: Int = weights.length
}

object RowBatch {
  final val Null = Long.MinValue
}

/** Streams of rows, one per folder, each file a batch: lines `value,...` or
  * `insert|delete,value,...`; an empty value is NULL.
  */
object RowStream {

  /** Batch b of input i is `(b)(i)`. */
  def read(folders: IndexedSeq[Path], columns: IndexedSeq[Int], batches: Int): IndexedSeq[IndexedSeq[RowBatch]] =
    folders.zip(columns).map { case (folder, n) => EdgeStream.files(folder).take(batches).map(readBatch(_, n)) }.transpose

  private def readBatch(file: Path, columns: Int): RowBatch = {
    val lines = Files.readAllLines(file)
    val weights = new Array[Byte](lines.size)
    val values = new Array[Long](lines.size * columns)
    var i = 0
    lines.forEach { line =>
      val fields = line.split(",", -1)
      weights(i) = if (fields(0) == "delete") -1 else 1
      val first = fields.length - columns
      var c = 0
      while (c < columns) {
        val text = fields(first + c)
        values(i * columns + c) = if (text.isEmpty) RowBatch.Null else text.toLong
        c += 1
      }
      i += 1
    }
    new RowBatch(columns, weights, Arrays.copyOf(values, i * columns))
  }
}
