package io.joinless.bench

import io.joinless.engine.enumerate.{ChangeBatch, DeltaEnumeration}
import io.joinless.engine.query.{Hypergraph, TreeSearch}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef, ViewTree}
import java.nio.file.{Files, Path, Paths}
import scala.collection.immutable.BitSet
import scala.jdk.CollectionConverters._

/** The engine alone on a stream of edges (performance.md T10): batches in, every result row visited by the cursor.
  *
  * Arguments: folder of one stream (`NNN.csv`: src,dst or op,src,dst), `path` or `star`, relations, end threshold, runs.
  * Prints per run: seconds, results gained and lost, engine MB, bytes per stored row, propagation steps, cursor moves.
  */
object EngineGraph {
  private val src = KeyField(0, variable = false)
  private val dst = KeyField(1, variable = false)

  def main(args: Array[String]): Unit = args match {
    case Array(folder, shape, relations, threshold, runs) =>
      val batches = read(Paths.get(folder))
      for (run <- 1 to runs.toInt) println(s"run $run: " + measure(batches, shape, relations.toInt, threshold.toLong))
    case _ => sys.error("arguments: folder path|star relations threshold runs")
  }

  final private case class Batch(weights: Array[Byte], src: Array[Long], dst: Array[Long])

  private def read(folder: Path): IndexedSeq[Batch] =
    Files.list(folder).iterator.asScala.filter(_.toString.endsWith(".csv")).toIndexedSeq.sorted.map { f =>
      val rows = Files.readAllLines(f).asScala.toArray.map(_.split(','))
      Batch(
        rows.map(r => if (r(0) == "delete") (-1).toByte else 1.toByte),
        rows.map(r => r(r.length - 2).toLong),
        rows.map(r => r(r.length - 1).toLong)
      )
    }

  private def block(shape: String, n: Int, changelog: Boolean): BlockDef = {
    val keys: IndexedSeq[IndexedSeq[(Int, KeyField)]] = shape match {
      case "path" => (0 until n).map(r =>
          (if (r > 0) IndexedSeq(r - 1 -> src) else IndexedSeq.empty) ++ (if (r < n - 1) IndexedSeq(r -> dst)
                                                                          else IndexedSeq.empty)
        )
      case "star" => IndexedSeq.fill(n)(IndexedSeq(0 -> src))
    }
    val graph = Hypergraph(keys.map(k => BitSet(k.map(_._1): _*)))
    val tree = TreeSearch.best(graph, IndexedSeq.fill(n)(1.0)).fold(core => sys.error(core.toString), identity)
    BlockDef(
      IndexedSeq(InputDef(2, 3, changelog)),
      IndexedSeq.fill(keys.flatten.map(_._1).max + 1)(AttributeDef(nullSafe = false)),
      keys.map(RelationDef(0, _)),
      tree
    )
  }

  private def measure(batches: IndexedSeq[Batch], shape: String, n: Int, threshold: Long): String = {
    val changelog = batches.exists(_.weights.contains(-1))
    val tree = new ViewTree(block(shape, n, changelog))
    var position = 0L
    // path: every edge in every role, the last only above the threshold; star: stream = position mod n
    def roles(dst: Long): Long = {
      val last = if (dst > threshold) 1L << (n - 1) else 0L
      if (shape == "path") ((1L << (n - 1)) - 1) | last
      else { val r = (position % n).toInt; if (r == n - 1) last else 1L << r }
    }
    var plus, minus, check = 0L
    val times = batches.map { batch =>
      val start = System.nanoTime
      if (!changelog) {
        val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
        val rows = delta.rows
        val words = new Array[Long](3)
        for (i <- batch.src.indices) {
          words(1) = batch.src(i); words(2) = batch.dst(i)
          var left = roles(batch.dst(i))
          position += 1
          if (left != 0) {
            val row = tree.arena(0).append(words, 0, 3)
            while (left != 0) {
              delta.insert(java.lang.Long.numberOfTrailingZeros(left), row)
              while (delta.next()) { plus += 1; check += rows(0) ^ rows(n - 1) }
              left &= left - 1
            }
          }
        }
      } else {
        val delta = new ChangeBatch(tree, IndexedSeq.empty)
        val rows = delta.rows
        val words = new Array[Long](3)
        for (i <- batch.src.indices) {
          words(1) = batch.src(i); words(2) = batch.dst(i)
          delta.add(0, roles(batch.dst(i)), batch.weights(i).toLong, words, 3)
        }
        while (delta.next()) { if (delta.weight > 0) plus += 1 else minus += 1; check += rows(0) ^ rows(n - 1) }
      }
      (System.nanoTime - start) / 1e9
    }
    val c = tree.counters
    f"${times.sum}%.2f s  plus $plus minus $minus  ${tree.bytes / 1e6}%.1f MB, ${tree.bytes.toDouble / math.max(1, tree.rows)}%.0f B/row, rows ${tree.rows}, keys ${tree.keys}, steps ${c.steps}, moves ${c.moves} (check $check)"
  }
}
