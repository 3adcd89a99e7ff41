package io.joinless.spark.time

import java.sql.Timestamp

import io.joinless.spark.api._
import io.joinless.spark.batches.PlayedQuery
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{AnalysisException, DataFrame, Encoder, Encoders, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Rows that are emitted once they are final, because the query requests it, or because they are
  * rows of outer joins.
  */
class FinalRowsSpec extends AnyFunSuite with SharedSpark {
  import FinalRowsRun._

  /** The number of random runs of each query; without the setting, one of some of them. */
  private val runs = sys.env.get("JOINLESS_FINAL_ROWS").map(_.toInt)

  private val w = FinalQuery.Window
  private val perGroup = FinalQuery.PerGroup

  for ((query, i) <- FinalQuery.All.zipWithIndex if runs.isDefined || i % 4 == 0; run <- 0 until runs.getOrElse(1))
    test(s"oracle_ what is final: ${query.sql}${if (run > 0) s", run $run" else ""}") {
      played(new FinalRowsRun(spark, query, 1000L * i + run + 1, way(i % 12 == 0)))
    }

  for ((query, i) <- FinalQuery.Waiting.zipWithIndex if runs.isDefined || i % 4 == 2; run <- 0 until runs.getOrElse(1))
    test(s"oracle_ plain outer and semi joins: ${query.sql}${if (run > 0) s", run $run" else ""}") {
      played(new FinalRowsRun(spark, query, 1000L * i + run + 1, way(i % 12 == 6), plain = true))
    }

  /** Some queries are played as streams: one or more of each kind. */
  private def way(asStream: Boolean) = if (asStream) PlayedQuery.AsStream else PlayedQuery.AsBatches()

  private def played(run: FinalRowsRun): Unit = {
    withConf(run.confs: _*)(run.play())
    info(run.summary)
  }

  test("what is never final is named") {
    timed[Timed]("ts").createOrReplaceTempView("t")
    timed[Other]("ta").createOrReplaceTempView("a")
    def refused(query: DataFrame): String = {
      val e = intercept[AnalysisException] {
        query.writeStream.format("noop").option("checkpointLocation", TestFolders.create("never").toString).start()
      }
      assert(e.getCondition == "JOINLESS_NOT_REWRITTEN" && e.getMessage.contains("NEVER_FINAL"), e.getMessage)
      e.getMessage
    }
    def never(sql: String) = refused(spark.sql(sql).incrementalEnumerate("on_close"))
    assert(never("SELECT g, COUNT(*) AS n FROM t GROUP BY g").contains("groups by g can change for ever"))
    assert(never("SELECT COUNT(*) AS n FROM t").contains("the group of all rows can change for ever"))
    assert(never("SELECT x, ts FROM t ORDER BY x LIMIT 3").contains("for ever"))
    assert(never(s"SELECT $w AS w, g, COUNT(*) AS n FROM t GROUP BY ROLLUP($w, g)").contains("can change for ever"))
    assert(never(s"SELECT ts, RANK() OVER (PARTITION BY g ORDER BY x) AS r FROM t").contains("can change for ever"))
    val unbounded = never("SELECT t.ts, COUNT(*) AS n FROM t JOIN a ON t.k = a.k GROUP BY t.ts")
    assert(unbounded.contains("nothing bounds how late rows of a join rows of t"), unbounded)
    assert(unbounded.contains("a.ta BETWEEN t.ts AND t.ts + INTERVAL '1' HOUR"), unbounded)
    assert(never("SELECT t.x FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = t.k)").contains(
      "whether a row has a match can change for ever"
    ))
    MemoryStream[Timed](Encoders.product[Timed], session).toDF().createOrReplaceTempView("unmarked")
    val unmarked = never(
      "SELECT u.x FROM unmarked u WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = u.k AND a.ta BETWEEN u.ts AND u.ts + INTERVAL 9 SECONDS)"
    )
    assert(unmarked.contains("withWatermark('ts', ...): the condition compares ts,"), unmarked)
    val ofGroups = never(s"SELECT g.w, COUNT(*) AS n FROM ($perGroup) g JOIN a ON g.g = a.k GROUP BY g.w")
    assert(ofGroups.contains("nothing bounds how late rows of a join rows of groups"), ofGroups)
    // windows as people write them, not the arithmetic that Spark makes of them
    assert(ofGroups.contains("groups.window(ts, 10 seconds).end") && !ofGroups.contains("named_struct"), ofGroups)
    assert(never("SELECT x, ts FROM t ORDER BY x LIMIT 3").contains(
      "the first 3 rows, ordered by x ASC NULLS FIRST can change"
    ))
    val bound = never("SELECT window(ts, '1 day').start AS s, COUNT(*) AS n FROM t GROUP BY 1")
    assert(bound.contains("groups by a bound of window(ts) can change"), bound)
    timed[Other]("ta").createOrReplaceTempView("b")
    val padded = never(
      s"SELECT t.x, a.ta FROM t FULL JOIN a ON a.k = t.k AND a.ta BETWEEN t.ts AND t.ts + INTERVAL 9 SECONDS " +
        "FULL JOIN b ON b.k = t.k AND b.ta BETWEEN t.ts AND t.ts + INTERVAL 9 SECONDS"
    )
    assert(padded.contains("a time that rows without a match in an outer join below do not have"), padded)
    timed[Timed]("ts").expire("ts", "1 hour").createOrReplaceTempView("t")
    assert(never(s"SELECT $w AS w, COUNT(*) AS n FROM t GROUP BY $w").contains("rows of t can be deleted"))
    assert(refused(spark.sql(
      "SELECT * FROM incremental_enumerate(TABLE(SELECT g, COUNT(*) AS n FROM a JOIN t ON a.k = t.k GROUP BY g), 'on_close')"
    )).contains("can be deleted"))
  }

  test("a checkpoint goes on with the same way to emit groups only") {
    val stream = MemoryStream[Timed](Encoders.product[Timed], session)
    stream.toDF().withWatermark("ts", "1 second").createOrReplaceTempView("t")
    val checkpoint = TestFolders.create("ways").toString
    def begun(form: String) = spark.sql(s"SELECT $w AS w, COUNT(*) AS n FROM t GROUP BY $w").incrementalEnumerate(form)
      .writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    val first = begun("on_close")
    stream.addData(Timed(1, 1, 1L, new Timestamp(1000)))
    first.processAllAvailable()
    first.stop()
    val refused = intercept[Exception](begun("weight").processAllAvailable())
    assert(refused.getMessage.contains("JOINLESS_STATE_MISMATCH"), refused.getMessage)
    assert(refused.getMessage.contains("Its groups are emitted when they are final"), refused.getMessage)
    begun("on_close").stop()
  }

  test("the result has the columns of the query, and may go on to operators with state") {
    val stream = MemoryStream[Timed](Encoders.product[Timed], session)
    stream.toDF().withWatermark("ts", "1 second").createOrReplaceTempView("t")
    val closed = spark.sql(perGroup).incrementalEnumerate("on_close")
    assert(closed.columns.toSeq == Seq("w", "g", "n", "s"))
    val sums = closed.groupBy("w").sum("n").writeStream.format("memory").queryName("sums_of_closed")
      .option("checkpointLocation", TestFolders.create("above").toString).start()
    try {
      for (second <- Seq(1, 2, 12, 25, 47)) {
        stream.addData(Timed(1, second % 2, 1L, new Timestamp(1000L * second)))
        sums.processAllAvailable()
      }
      val rows = spark.table("sums_of_closed").selectExpr("unix_timestamp(w.end)", "`sum(n)`").collect().map(_.toString)
      assert(rows.toSet == Set("[10,2]", "[20,1]", "[30,1]"), rows.mkString(", "))
    } finally sums.stop()
  }

  private def timed[A <: Product: Encoder](time: String): DataFrame =
    MemoryStream[A](implicitly[Encoder[A]], session).toDF().withWatermark(time, "1 second")

  implicit private val timedRows: Encoder[Timed] = Encoders.product[Timed]
  implicit private val otherRows: Encoder[Other] = Encoders.product[Other]

  private lazy val session = spark.asInstanceOf[classic.SparkSession]
}
