package io.joinless.spark.time

import io.joinless.spark.SharedSpark
import io.joinless.spark.batches.PlayedQuery
import org.scalatest.funsuite.AnyFunSuite

/** Joins with bounds in time: the rows emitted in each batch are the new results of a nested loop
  * over all rows that were not late, and the rows stored after each batch are exactly those that
  * the bounds require.
  */
class TimeBoundedJoinsSpec extends AnyFunSuite with SharedSpark {

  /** The number of random queries to run. */
  private val queries = sys.env.getOrElse("JOINLESS_TIME_BOUNDED", "12").toInt

  for (seed <- 0L until queries.toLong)
    test(s"oracle_ a random join with bounds in time, seed $seed") {
      val query = TimeBoundedQuery.draw(seed)
      info(query.sql)
      val way = if (seed % 6 == 0) PlayedQuery.AsStream else PlayedQuery.AsBatches()
      val run = new TimeBoundedRun(spark, query, way)
      run.play()
      info(run.summary)
    }
}
