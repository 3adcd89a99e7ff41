package io.joinless.spark.time

import java.sql.Timestamp
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.joinless.spark.api._
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{AnalysisException, DataFrame, Encoders, classic}
import org.scalatest.funsuite.AnyFunSuite

/** `expire` as users see it: how it is requested, what it refuses and by which errors, over which
  * restarts it continues, and that memory is released. Which rows are present is
  * [[SlidingViewsSpec]]'s.
  */
class ExpireSpec extends AnyFunSuite with SharedSpark {

  private lazy val session = spark.asInstanceOf[classic.SparkSession]

  /** Numbers, each with its time. */
  private def moments() =
    MemoryStream[(Int, Timestamp)](Encoders.tuple(Encoders.scalaInt, Encoders.TIMESTAMP), session)

  test("what cannot expire is named") {
    val rows = moments().toDF().toDF("k", "ts")
    def refused(df: => DataFrame): String = intercept[AnalysisException](df).getCondition
    val timed = rows.withWatermark("ts", "1 second")
    assert(refused(rows.expire("ts", "1 hour")) == "JOINLESS_EXPIRY.NO_WATERMARK")
    assert(refused(timed.expire("tss", "1 hour")) == "JOINLESS_EXPIRY.NOT_FOUND")
    assert(refused(timed.expire("k", "1 hour")) == "JOINLESS_EXPIRY.NOT_A_TIMESTAMP")
    for (bad <- Seq("1 month", "-1 hour", "an hour", "", "2 years 1 day"))
      assert(refused(timed.expire("ts", bad)) == "JOINLESS_EXPIRY.INTERVAL", bad)
    assert(refused(timed.expire("ts", "1 hour").expire("ts", "1 hour")) == "JOINLESS_EXPIRY.TWICE")
    assert(refused(spark.range(1).toDF("ts").expire("ts", "1 hour")) == "JOINLESS_NOT_STREAMING")
    val behind = timed.expire("ts", "1 hour").withWatermark("ts", "1 second").incrementalEnumerate()
    assert(intercept[AnalysisException](behind.writeStream.format("noop").start()).getMessage.contains(
      "WATERMARK_ON_CHANGELOG"
    ))
    val started = intercept[AnalysisException](timed.expire("ts", "1 hour").writeStream.format("noop").start())
    assert(started.getCondition == "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE")
  }

  for (
    sql <- Seq(
      "SELECT f.name, r.ts FROM recent r JOIN fixed f ON f.k = r.k",
      "SELECT r.k, f.name FROM recent r LEFT JOIN fixed f ON f.k = r.k",
      "SELECT f.name, b.ts FROM recent r JOIN fixed f ON f.k = r.k LEFT JOIN recent b ON b.k = r.k",
      "SELECT f.name, COUNT(*) AS n FROM recent r JOIN fixed f ON f.k = r.k GROUP BY f.name",
      "SELECT f.name FROM fixed f LEFT JOIN recent r ON f.k = r.k",
      "SELECT f.name, COUNT(*) AS n FROM recent r JOIN fixed f ON f.k = r.k WHERE NOT EXISTS (SELECT 1 FROM recent b WHERE b.k <> r.k) GROUP BY f.name",
      "SELECT k, ts FROM recent UNION ALL SELECT r.k, r.ts FROM recent r JOIN fixed f ON f.k = r.k"
    )
  )
    test(s"a static table beside rows that expire has the rows of literals: $sql") {

      /** The changes after each batch. */
      def changes(fixed: DataFrame): Seq[Seq[String]] = {
        val rows = moments()
        rows.toDF().toDF("k", "ts").withWatermark("ts", "1 second").expire("ts", "1 minute")
          .createOrReplaceTempView("recent")
        fixed.createOrReplaceTempView("fixed")
        val emitted = new ConcurrentHashMap[Long, Seq[String]]
        val running = spark.sql(sql).incrementalEnumerate("weight").writeStream
          .option("checkpointLocation", TestFolders.create("fixed").resolve("cp").toString)
          .foreachBatch { (df: DataFrame, batch: Long) =>
            val _ = emitted.put(batch, df.collect().map(_.toString).toSeq.sorted)
          }.start()
        try {
          for (second <- Seq(1, 40, 100, 101, 300)) {
            rows.addData((second % 3, new Timestamp(1000L * second)))
            running.processAllAvailable()
          }
          emitted.asScala.toSeq.sortBy(_._1).map(_._2).filter(_.nonEmpty)
        } finally running.stop()
      }
      val literals = changes(spark.sql("SELECT * FROM VALUES (0, 'zero'), (1, 'one') AS f(k, name)"))
      assert(literals.nonEmpty)
      val static = spark.range(2).selectExpr("CAST(id AS INT) AS k", "IF(id = 0, 'zero', 'one') AS name")
      assert(changes(static) == literals)
    }

  test("another delay of the watermark is no other query") {
    val rows = moments()
    for (
      sql <- Seq(
        "SELECT k, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM recent) WHERE n = 1",
        "SELECT k, RANK() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM recent",
        "SELECT k, ts FROM recent ORDER BY ts LIMIT 1",
        "SELECT k, MAX(STRUCT(ts, k)) AS m FROM recent GROUP BY k",
        "SELECT s, COUNT(*) AS n FROM (SELECT STRUCT(ts, k) AS s FROM recent) GROUP BY s",
        "SELECT a.s, b.k FROM (SELECT k, STRUCT(ts, k) AS s FROM recent) a JOIN recent b ON a.k = b.k",
        "SELECT a.k, b.ts FROM recent a LEFT JOIN recent b ON a.k = b.k AND a.ts = b.ts"
      )
    ) {
      val checkpoint = TestFolders.create("delay").resolve("cp").toString
      for (delay <- Seq("1 minute", "2 minutes")) {
        rows.toDF().toDF("k", "ts").withWatermark("ts", delay).expire("ts", "1 hour").createOrReplaceTempView("recent")
        val running = spark.sql(sql).incrementalEnumerate().writeStream.format("noop").option(
          "checkpointLocation",
          checkpoint
        ).start()
        try { rows.addData((1, new Timestamp(1000L))); running.processAllAvailable() }
        catch { case e: Exception => fail(s"$sql, delay of $delay", e) }
        finally running.stop()
      }
    }
  }

  test("memory of a burst is given back when its rows have expired") {
    val rows = MemoryStream[(Int, Int, Timestamp)](
      Encoders.tuple(Encoders.scalaInt, Encoders.scalaInt, Encoders.TIMESTAMP),
      session
    )
    rows.toDF().toDF("k", "v", "ts").withWatermark("ts", "0 seconds").createOrReplaceTempView("burst")
    spark.table("burst").expire("ts", "1 minute").createOrReplaceTempView("recent_burst")
    val bounded =
      "SELECT a.v, b.v AS w FROM burst a JOIN burst b ON a.k = b.k + 1 AND b.ts = a.ts JOIN burst c ON c.k = a.k AND c.ts = a.ts"
    val expiring = "SELECT a.v, b.v AS w FROM recent_burst a JOIN recent_burst b ON a.k = b.k + 1"
    for (
      (name, query) <-
        Seq("bounded" -> spark.sql(bounded), "expiring" -> spark.sql(expiring).incrementalEnumerate("weight"))
    ) {
      val emitted = new ConcurrentHashMap[Long, Long]
      val running = query.writeStream.option("checkpointLocation", TestFolders.create("burst").resolve("cp").toString)
        .foreachBatch((df: DataFrame, id: Long) => {
          val _ = emitted.put(id, df.collect().map(row => if (row.length > 2) row.getLong(2) else 1L).sum)
        }).start()
      try {
        def after(second: Int, many: Int): Long = {
          rows.addData((0 until many).map(i => (i, i, new Timestamp(1000L * second))))
          running.processAllAvailable()
          running.lastProgress.stateOperators.head.customMetrics.get("arenaBytes").longValue
        }
        after(1000, 3)
        val burst = after(1010, 60000)
        val later = (1 to 6).map(i => after(1010 + 100 * i, 3))
        assert(later.last < burst / 20, s"$name: $burst, then $later")
        // pairs of neighbours: all that were inserted, or the present ones
        assert(emitted.values.asScala.sum == (if (name == "bounded") 60013 else 2), s"$name: $emitted")
      } finally running.stop()
    }
  }

  test("in SQL, too") {
    val rows = moments().toDF().toDF("k", "ts")
    rows.withWatermark("ts", "1 second").createOrReplaceTempView("timed")
    def text(sql: String) = PythonApi.explainText(spark.sql(sql))
    for (interval <- Seq("INTERVAL '1' HOUR", "INTERVAL 60 MINUTES", "'1 hour'")) {
      val explained =
        text(
          s"SELECT * FROM incremental_enumerate(TABLE(SELECT k FROM expire(TABLE(timed), 'ts', $interval) AS recent))"
        )
      assert(
        explained.contains("are deleted, and results with them, when the watermark reaches: recent.ts + 1 hour"),
        explained
      )
    }
    def refused(sql: String) = intercept[AnalysisException](spark.sql(sql)).getCondition
    assert(refused("SELECT * FROM expire(TABLE(timed), 'ts', INTERVAL '1' MONTH)") == "JOINLESS_EXPIRY.INTERVAL")
    assert(refused("SELECT * FROM expire(TABLE(timed), 'ts')") == "JOINLESS_EXPIRY.ARGUMENTS")
    spark.range(3).createOrReplaceTempView("still")
    assert(refused("SELECT * FROM expire(TABLE(still), 'id', INTERVAL '1' HOUR)") == "JOINLESS_NOT_STREAMING")
  }
}
