package io.joinless.spark.changes

import io.joinless.engine.sample.Chances
import io.joinless.spark.SharedSpark
import io.joinless.spark.batches.PlayedQuery
import org.scalatest.funsuite.AnyFunSuite

/** The law of samples that several cells keep and the plugin merges (`compile.SampledRows`): each
  * result is in the sample with the same chance, whatever its cell and its batch. Results of one
  * key are in one cell, and cells have unequally many. The law of a cell is tested on the engine.
  */
class MergedSamplesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {
  import MergedSamplesSpec._

  for (cells <- Seq(3, 4); seed <- Seq(1, 2))
    test(s"a sample of $cells cells prefers no cell and no batch (seed $seed)") {
      val size = 200
      play(cells, s"sample(TABLE($Query), $size, $seed)") { (batch, all, kept) =>
        assert(kept.values.sum == size)
        val share = size.toDouble / all.size
        for ((by, of) <- Seq[(String, Seq[Any] => Any)]("key" -> (_.head), "batch" -> arrived)) {
          val (n, found) = (all.keys.groupMapReduce(of)(_ => 1)(_ + _), kept.keys.groupMapReduce(of)(_ => 1)(_ + _))
          // without replacement, so classes vary by 1 − share less than with it
          val distance = n.map { case (c, count) =>
            val expected = count * share
            math.pow(found.getOrElse(c, 0) - expected, 2) / (expected * (1.0 - share))
          }.sum
          val chance = if (n.size == 1) 1.0 else Chances.chiSquare(distance, n.size - 1)
          assert(chance > Unlikely, s"by $by, after batch $batch: χ² $distance of ${n.size} classes, $found of $n")
        }
      }
    }

  for (cells <- Seq(3, 4))
    test(s"samples of $cells cells per group prefer no cell and no batch") {
      val size = 5
      val classes = collection.mutable.Map.empty[(String, Any), (Double, Double, Int)].withDefaultValue((0.0, 0.0, 0))
      play(cells, s"sample(TABLE($Query), $size, 3, x)") { (batch, all, kept) =>
        val (groups, drawn) = (all.keys.groupBy(_(1)), kept.keys.groupBy(_(1)).withDefaultValue(Nil))
        for ((x, rows) <- groups) {
          val share = math.min(1.0, size.toDouble / rows.size)
          assert(drawn(x).size == math.min(size, rows.size))
          for (
            of <- Seq[Seq[Any] => (String, Any)](
              row => (s"key after $batch", row.head),
              row => (s"batch after $batch", arrived(row))
            )
          ) {
            val found = drawn(x).groupMapReduce(of)(_ => 1)(_ + _)
            for ((c, n) <- rows.groupMapReduce(of)(_ => 1)(_ + _) if rows.size > 1) {
              // hypergeometric
              val variance = n * share * (1.0 - share) * (rows.size - n) / (rows.size - 1)
              val (distance, sum, count) = classes(c)
              classes(c) = (distance + found.getOrElse(c, 0) - n * share, sum + variance, count + 1)
            }
          }
        }
      }
      for ((c, (distance, variance, count)) <- classes if count > 20 && variance > 0) {
        val chance = 2 * Chances.normal(math.abs(distance) / math.sqrt(variance))
        assert(chance > Unlikely, s"$c: $distance more than expected, of a variance of $variance")
      }
    }

  /** Calls `check` with the number of the batch, the result and the sample, after each batch: rows
    * are inserted, and in the last two some are deleted, too. All rows of the result differ.
    */
  private def play(cells: Int, sample: String)(
      check: (Int, Map[Seq[Any], Long], Map[Seq[Any], Long]) => Unit
  ): Unit =
    withConf("spark.sql.shuffle.partitions" -> s"$cells", "spark.joinless.placement.maxCells" -> s"$cells") {
      val tables = new Tables
      tables.start(s"SELECT * FROM $sample", "weight", PlayedQuery.AsBatches(None))
      try {
        for (k <- 0 until Keys) tables.insertPair(k, 0)
        for (batch <- 0 until Batches) {
          for (k <- 0 until Keys; i <- 0 until 10 + 5 * k)
            tables.insert(k, 0, ((i + 3 * k) % Groups).toLong, batch * Most + i + 0.5)
          if (batch >= 2) for (i <- 0 until 150) tables.delete(tables.size * i / 200)
          if (batch == 2) tables.restart()
          tables.advance()
          check(batch, tables.expected(Query), tables.result)
        }
      } finally tables.stop()
    }
}

private object MergedSamplesSpec {
  final val Unlikely = 1e-4

  /** Of a row: its key, its group, and a number that says when it arrived. */
  private val Query = "SELECT t.k, t.x, t.d FROM t JOIN u ON t.k = u.k"
  private val Keys = 11
  private val Groups = 40
  private val Batches = 4
  private val Most = 1000

  private def arrived(row: Seq[Any]): Int = (row(2).asInstanceOf[Double] / Most).toInt
}
