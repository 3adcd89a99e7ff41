package io.joinless.spark.time

import io.joinless.spark.SharedSpark
import org.scalatest.funsuite.AnyFunSuite

/** Joins with bounds in time: what they tell in each batch is what a nested loop over all rows that were not late finds new, and what
  * is stored behind each batch is what the bounds leave, row by row.
  */
class TimeBoundedJoinsSpec extends AnyFunSuite with SharedSpark {

  /** How many random queries are played. */
  private val queries = sys.env.getOrElse("JOINLESS_TIME_BOUNDED", "12").toInt

  for (seed <- 0L until queries.toLong)
    test(s"oracle_ a random join with bounds in time, seed $seed") {
      val query = TimeBoundedQuery.draw(seed)
      info(query.sql)
      val run = new TimeBoundedRun(spark, query)
      run.play()
      info(run.summary)
    }
}
