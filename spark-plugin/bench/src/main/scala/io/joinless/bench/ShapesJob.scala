package io.joinless.bench

import java.io.PrintWriter
import java.nio.file.Paths

/** The cost of the engine over random queries ([[Shape]]): a line of JSON for each, with the
  * seconds of each run over its stream.
  *
  * Arguments: report file, first seed, number of shapes, runs, rows of each. Each shape is first
  * run for three seconds unmeasured.
  */
object ShapesJob {
  def main(args: Array[String]): Unit = args match {
    case Array(report, first, count, runs, rows) =>
      val file = new PrintWriter(Paths.get(report).toFile)
      try
        for (seed <- first.toInt until first.toInt + count.toInt) {
          file.println(line(seed, Shape(seed, rows.toInt), runs.toInt))
          file.flush()
        }
      finally file.close()
    case _ => sys.error("arguments: report first-seed shapes runs rows")
  }

  private def line(seed: Int, shape: Shape, runs: Int): String = {
    val end = System.nanoTime + 3000000000L
    do play(shape) while (System.nanoTime < end)
    System.gc()
    val played = IndexedSeq.fill(runs)(play(shape))
    val (_, results, check, bytes, rows) = played.head
    require(played.forall(p => p._2 == results && p._3 == check), s"shape $seed: runs differ")
    val seconds = played.map(_._1).mkString("[", ", ", "]")
    s"""{"seed": $seed, "rows": ${shape.rows}, "relations": ${shape.relations.size}, "inputs": ${shape.inputs
        .size}, "deletes": ${shape
        .deletes}, """ +
      s""""results": $results, "check": $check, "state_rows": $rows, "state_bytes": $bytes, "seconds": $seconds}"""
  }

  /** Seconds, results, their check, bytes and rows of the state. */
  private def play(shape: Shape): (Double, Long, Long, Long, Long) = {
    val run = new ShapeRun(shape)
    val start = System.nanoTime
    for (batch <- shape.batches) run(batch)
    ((System.nanoTime - start) / 1e9, run.results, run.check, run.tree.bytes, run.tree.rows)
  }
}
