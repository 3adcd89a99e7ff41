package io.joinless.bench

import java.nio.file.{Files, Paths}

import io.joinless.engine.algebra.WideCounts
import io.joinless.engine.sample.{KeptSample, SampledBatch}
import io.joinless.engine.view.{AggregatesDef, ViewTree}

/** Keeps a sample of paths or stars of a stream of edges, with the engine alone.
  *
  * Arguments: `path` or `star`, relations, file, batches, the size of the sample, and how often to
  * run. A line of the file is `relation|1,src,dst`, or `relation|-1,src,dst` to delete an edge; the
  * relations are separate inputs. Prints, for each run, the seconds (with parsing), the number of
  * results, the copies that entered or left the sample, and the bytes of the state.
  */
object SampleJob {

  def main(args: Array[String]): Unit = args match {
    case Array(shape, relations, file, batches, size, runs) =>
      val text = Files.readAllBytes(Paths.get(file))
      val lines = text.count(_ == '|')
      for (_ <- 1 to runs.toInt) run(shape == "star", relations.toInt, text, lines, batches.toInt, size.toInt)
    case _ => sys.error("arguments: path|star relations file batches size runs")
  }

  private def run(star: Boolean, relations: Int, text: Array[Byte], lines: Int, batches: Int, size: Int): Unit = {
    val before = heap()
    val started = System.nanoTime
    val query = GraphQuery(star, 0 until relations, -1L, relations + 1)
    val tree =
      new ViewTree(query.block(deletes = true), Some(AggregatesDef(WideCounts, IndexedSeq.fill(relations)(None))))
    val sample = new KeptSample(size, tree)
    val batch = new SampledBatch(tree, IndexedSeq.empty, sample)
    val words = new Array[Long](query.rows.words)
    var at, changes = 0
    def number(): Long = {
      var n = 0L
      while (text(at) >= '0' && text(at) <= '9') { n = 10 * n + (text(at) - '0').toLong; at += 1 }
      at += 1
      n
    }
    for (b <- 0 until batches) {
      val until = (lines.toLong * (b + 1) / batches - lines.toLong * b / batches).toInt
      for (_ <- 0 until until) {
        val relation = number().toInt
        val weight = if (text(at) == '-') -1L else 1L
        at += (if (weight < 0L) 3 else 2)
        val (src, dst) = (number(), number())
        batch.add(relation, 1L << relation, weight, words, query.rows.write(words, src, dst))
      }
      batch.seed = b.toLong
      while (batch.next()) changes += 1
    }
    val seconds = (System.nanoTime - started) / 1e9
    println(
      f"$seconds%.2f s, ${SampledBatch.total(tree)} results, $changes changes of ${sample.size} copies, ${(tree.bytes + sample.bytes) >> 20} MB counted, ${(heap() - before) >> 20} MB held, steps ${tree.counters.steps}"
    )
  }

  private def heap(): Long = {
    System.gc()
    val runtime = Runtime.getRuntime
    runtime.totalMemory - runtime.freeMemory
  }
}
