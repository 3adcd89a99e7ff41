package io.joinless.spark.time

import java.sql.Timestamp
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.api._
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}
import org.apache.spark.sql.{AnalysisException, DataFrame, Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Rows that are told once they are final: behind every batch, what was told so far is the query over the rows that are not late, as batch
  * SQL has it, of the groups that have closed.
  */
class FinalRowsSpec extends AnyFunSuite with SharedSpark {
  import FinalRowsSpec._

  /** How many random runs of each query; without the setting, one of some of them. */
  private val runs = sys.env.get("JOINLESS_FINAL_ROWS").map(_.toInt)

  private val w = "window(ts, '10 seconds')"
  private val near = "t.k = a.k AND a.ta BETWEEN t.ts AND t.ts + INTERVAL 20 SECONDS"
  private val perGroup = s"SELECT $w AS w, g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY $w, g"

  /** A query; when its groups close: a column that it shows, and seconds beyond it; None where rows are told as they come; and what becomes of
    * rows that are late.
    */
  private val queries = Seq[(String, Option[(String, Int)], LateRows)](
    (s"SELECT $w AS w, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY $w", Some("w.end" -> 0), OfOpenGroups),
    (s"SELECT $w.end AS e, g, COUNT(*) AS n FROM t GROUP BY $w, g HAVING COUNT(*) > 1", Some("e" -> 0), OfOpenGroups),
    (
      "SELECT window(ts, '10 seconds', '5 seconds') AS w, MIN(x) AS l, MAX(x) AS h, COUNT(DISTINCT g) AS d FROM t " +
        "WHERE x <> 5 GROUP BY 1",
      Some("w.end" -> 0),
      NotSent
    ),
    ("SELECT ts, g, COUNT(*) AS n FROM t GROUP BY ts, g", Some("ts" -> 0), OfOpenGroups),
    (s"SELECT DISTINCT $w AS w, g FROM t", None, OfOpenGroups),
    (
      s"SELECT $w AS w, ROUND(STDDEV(x), 6) AS d, SORT_ARRAY(COLLECT_LIST(x)) AS l FROM t GROUP BY $w",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      s"SELECT window(t.ts, '10 seconds') AS w, COUNT(*) AS n, SUM(a.y) AS s FROM t JOIN a ON $near GROUP BY 1",
      Some("w.end" -> 20),
      Dropped
    ),
    (
      s"SELECT t.g, window(a.ta, '10 seconds') AS w, COUNT(*) AS n, MAX(t.x) AS h FROM t JOIN a ON $near GROUP BY 1, 2",
      Some("w.end" -> 0),
      Dropped
    ),
    (
      s"SELECT s.w, COUNT(*) AS n FROM (SELECT *, $w AS w FROM t) s JOIN a ON s.k = a.k AND a.ta BETWEEN s.ts AND s.ts + " +
        "INTERVAL 15 SECONDS JOIN t u ON u.g = s.g AND u.ts = s.ts GROUP BY s.w",
      Some("w.end" -> 15),
      Dropped
    ),
    (s"SELECT t.k, t.x, a.y FROM t JOIN a ON $near", None, Dropped),
    (s"SELECT DISTINCT t.ts, t.g FROM t JOIN a ON $near", None, Dropped),
    (
      s"SELECT w, g, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY w ORDER BY n DESC, g) AS r FROM ($perGroup)) WHERE r <= 2",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      s"SELECT w, MAX(n) AS m, COUNT(*) AS c, SUM(s) AS s FROM ($perGroup) GROUP BY w",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      s"SELECT w, COUNT(*) AS n, SUM(v) AS s FROM (SELECT $w AS w, x AS v FROM t UNION ALL " +
        "SELECT window(ta, '10 seconds'), y FROM a WHERE y > 0) GROUP BY w",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (s"SELECT w, g, SUM(n) OVER (PARTITION BY w ORDER BY g) AS r FROM ($perGroup)", Some("w.end" -> 0), OfOpenGroups),
    (
      s"SELECT w, g, COUNT(*) AS n FROM (SELECT *, $w AS w FROM t) GROUP BY GROUPING SETS ((w, g), (w))",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      s"SELECT w, n, i FROM ($perGroup) LATERAL VIEW EXPLODE(SEQUENCE(1, n)) AS i WHERE n > 1",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      s"SELECT w, n, COUNT(*) AS c FROM (SELECT w, n FROM ($perGroup) UNION ALL SELECT window(t.ts, '10 seconds'), COUNT(*) " +
        s"FROM t JOIN a ON $near GROUP BY 1) GROUP BY w, n",
      Some("w.end" -> 20),
      NotSent
    ),
    (
      "SELECT t.k, t.x, t.ts FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE " + near + ")",
      Some("ts" -> 20),
      Dropped
    ),
    (s"SELECT t.k, t.x, t.ts FROM t WHERE EXISTS (SELECT 1 FROM a WHERE $near AND a.y > 0)", None, Dropped),
    (
      s"SELECT window(ts, '10 seconds') AS w, g, COUNT(*) AS n FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE $near) GROUP BY 1, 2",
      Some("w.end" -> 20),
      Dropped
    ),
    (
      s"SELECT g.w, g.n, a.y FROM ($perGroup) g JOIN (SELECT *, window(ta, '10 seconds') AS v FROM a) a ON g.g = a.k AND g.w = a.v",
      Some("w.end" -> 0),
      Dropped
    ),
    (
      s"SELECT t.ts, t.x, a.y FROM t JOIN a ON $near WHERE NOT EXISTS (SELECT 1 FROM t u WHERE u.g = t.g AND u.ts > t.ts " +
        "AND u.ts <= t.ts + INTERVAL 10 SECONDS)",
      Some("ts" -> 10),
      Dropped
    ),
    (
      s"SELECT k, w, x FROM (SELECT *, $w AS w FROM t) t WHERE NOT EXISTS (SELECT 1 FROM (SELECT *, window(ta, '10 seconds') AS v " +
        "FROM a) a WHERE a.k = t.k AND a.v = t.w)",
      Some("w.end" -> 0),
      Dropped
    ),
    ("SELECT x, ts FROM t WHERE k IN (SELECT a.k FROM a WHERE a.ta = t.ts) AND x > 0", None, Dropped),
    (
      s"SELECT a.w, COUNT(*) AS n, SUM(b.n) AS s FROM ($perGroup) a JOIN ($perGroup) b ON a.w = b.w AND a.n >= b.n GROUP BY a.w",
      Some("w.end" -> 0),
      Dropped
    ),
    (
      s"SELECT w, g, RANK() OVER (PARTITION BY w ORDER BY n, g) AS r, SUM(n) OVER (PARTITION BY w) AS s FROM ($perGroup)",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      s"SELECT w, COUNT(*) AS c, MAX(r) AS m FROM (SELECT w, g, RANK() OVER (PARTITION BY w ORDER BY x) AS r FROM (SELECT *, $w AS w " +
        "FROM t)) GROUP BY w",
      Some("w.end" -> 0),
      OfOpenGroups
    ),
    (
      "SELECT t.w, t.x, a.y FROM (SELECT *, window(ts, '10 seconds', '5 seconds') AS w FROM t) t JOIN (SELECT *, window(ta, " +
        "'10 seconds', '5 seconds') AS w FROM a) a ON t.k = a.k AND t.w = a.w",
      None,
      Dropped
    ),
    (
      s"SELECT e.w, e.n, COUNT(*) AS c FROM (SELECT w, n, EXPLODE(ARRAY(g, g + 1)) AS g FROM ($perGroup)) e JOIN (SELECT *, " +
        "window(ta, '10 seconds') AS v FROM a) a ON a.k = e.g AND a.v = e.w GROUP BY e.w, e.n",
      Some("w.end" -> 0),
      Dropped
    ),
    (
      "SELECT t.w, u.x, COUNT(*) AS n FROM (SELECT *, " + w + " AS w FROM t) t JOIN (SELECT *, window(ta, '10 seconds') AS w FROM a) a " +
        "ON t.w = a.w JOIN t u ON u.k = a.k AND u.ts BETWEEN a.ta AND a.ta + INTERVAL 5 SECONDS GROUP BY t.w, u.x",
      Some("w.end" -> 5),
      Dropped
    ),
    (
      s"SELECT t.k, t.ts, t.x, a.y FROM t LEFT JOIN a ON $near",
      Some("IF(y IS NULL, ts, TIMESTAMP '0001-01-01')" -> 20),
      Dropped
    ),
    // unmatched rows are told 20 seconds behind, and what stands above waits as long for any row of t again
    (
      s"SELECT window(t.ts, '10 seconds') AS w, COUNT(*) AS n, COUNT(a.y) AS m FROM t LEFT JOIN a ON $near GROUP BY 1",
      Some("w.end" -> 40),
      Dropped
    ),
    (
      s"SELECT t.k, t.ts, a.y, u.x AS z FROM t LEFT JOIN a ON $near LEFT JOIN t u ON u.g = t.k AND u.ts BETWEEN t.ts AND t.ts + " +
        "INTERVAL 10 SECONDS",
      Some(
        "GREATEST(IF(y IS NULL, ts + INTERVAL 20 SECONDS, TIMESTAMP '0001-01-01'), " +
          "IF(z IS NULL, ts + INTERVAL 10 SECONDS, TIMESTAMP '0001-01-01'))" -> 0
      ),
      Dropped
    ),
    (
      s"SELECT t.k, t.ts, a.k AS l, a.ta FROM t FULL JOIN a ON $near",
      Some("IF(l IS NULL, ts + INTERVAL 20 SECONDS, IF(k IS NULL, ta, TIMESTAMP '0001-01-01'))" -> 0),
      Dropped
    ),
    (
      "SELECT t.x, t.w, a.y FROM (SELECT *, " + w + " AS w FROM t) t LEFT JOIN (SELECT *, window(ta, '10 seconds') AS v FROM a) a " +
        "ON t.k = a.k AND t.w = a.v JOIN t u ON u.g = t.g AND u.ts = t.ts",
      Some("IF(y IS NULL, w.end, TIMESTAMP '0001-01-01')" -> 0),
      Dropped
    )
  )

  for (
    ((sql, closes, late), i) <- queries.zipWithIndex if runs.isDefined || i % 3 == 0; run <- 0 until runs.getOrElse(1)
  )
    test(s"oracle_ what is final: $sql${if (run > 0) s", run $run" else ""}") {
      new Run(sql, closes, late, 1000L * i + run).play()
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
      "whether a row has a partner can change for ever"
    ))
    assert(never(s"SELECT g.w, COUNT(*) AS n FROM ($perGroup) g JOIN a ON g.g = a.k GROUP BY g.w").contains(
      "nothing bounds how late rows of a join rows of groups"
    ))
    assert(never("SELECT x, ts FROM t ORDER BY x LIMIT 3").contains(
      "the first 3 rows, ordered by x ASC NULLS FIRST can change"
    ))
    timed[Timed]("ts").expire("ts", "1 hour").createOrReplaceTempView("t")
    assert(never(s"SELECT $w AS w, COUNT(*) AS n FROM t GROUP BY $w").contains("rows of t can be deleted"))
    assert(refused(spark.sql(
      "SELECT * FROM incremental_enumerate(TABLE(SELECT g, COUNT(*) AS n FROM a JOIN t ON a.k = t.k GROUP BY g), 'on_close')"
    )).contains("can be deleted"))
  }

  test("a checkpoint goes on with the same way to tell groups only") {
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
    assert(refused.getMessage.contains("Its groups are told when they are final"), refused.getMessage)
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

  final private class Run(sql: String, closes: Option[(String, Int)], lateRows: LateRows, seed: Long) {
    private[this] val random = new Random(seed * 0x9e3779b97f4a7c15L)
    private[this] val delays = Seq(random.nextInt(15), random.nextInt(15))
    private[this] val twice = random.nextInt(3) == 0
    private[this] val ts = MemoryStream[Timed](Encoders.product[Timed], session)
    private[this] val as = MemoryStream[Other](Encoders.product[Other], session)
    private[this] val sent = Seq.fill(2)(mutable.ArrayBuffer.empty[Seq[Event]])
    private[this] val taken = Array.fill(2)(0)
    private[this] val here = Seq.fill(2)(mutable.ArrayBuffer.empty[Event]) // those that were not late
    private[this] val checkpoint = TestFolders.create("final").resolve("cp").toString
    private[this] val told = new ConcurrentHashMap[Long, Seq[Row]]
    private[this] val all = mutable.ArrayBuffer.empty[Seq[Any]]
    private[this] var late = 0L
    private[this] var seen = -1L
    private[this] var (batches, emptyBatches) = (0, 0)

    def play(): Unit = withConf(
      "spark.sql.shuffle.partitions" -> "2",
      "spark.sql.streaming.multipleWatermarkPolicy" -> (if (random.nextInt(3) == 0) "max" else "min"),
      "spark.sql.streaming.stateStore.providerClass" -> ("org.apache.spark.sql.execution.streaming.state." +
        (if (random.nextInt(4) == 0) "RocksDBStateStoreProvider" else "HDFSBackedStateStoreProvider"))
    ) {
      var running = start()
      try {
        for (batch <- 0 until 9) {
          send(
            0,
            Seq.fill(random.nextInt(8))(Timed(
              random.nextInt(4),
              random.nextInt(3),
              random.nextInt(6).toLong,
              some(batch)
            ))
          )
          send(1, Seq.fill(random.nextInt(6))(Other(random.nextInt(4), random.nextInt(4), some(batch))))
          running.processAllAvailable()
          check(running)
          if (batch == 4) {
            running.stop()
            running = start()
          }
        }
        // time goes on, and nothing else does
        send(0, Seq(Timed(9, 9, 9L, at(100000))))
        send(1, Seq(Other(9, 9, at(100000))))
        running.processAllAvailable()
        check(running)
        // what came last is all that is left
        val left = running.lastProgress.stateOperators.map(_.numRowsTotal)
        assert(left.forall(_ <= 6), s"${left.mkString(", ")} rows of state are left")
        if (closes.isDefined) {
          val full = intercept[AnalysisException](spark.sql(sql).enumerateFull(checkpoint).collect())
          assert(full.getCondition == "JOINLESS_ROWS_FORGOTTEN", full.getMessage)
        }
      } finally running.stop()
      assert(all.nonEmpty)
      info(s"$batches batches, ${all.size} rows, $emptyBatches batches without rows")
    }

    private def at(second: Int) = new Timestamp(1000L * second)

    private def some(batch: Int): Timestamp = {
      val second =
        1000 + 15 * batch + random
          .nextInt(if (lateRows == NotSent) 15 else 20) - (if (lateRows != NotSent && random.nextInt(6) == 0) 30 else 0)
      if (random.nextInt(20) == 0) null else at(second)
    }

    private def send(stream: Int, rows: Seq[Event]): Unit = if (rows.nonEmpty) {
      sent(stream) += rows
      val _ = stream match {
        case 0 => ts.addData(rows.collect { case t: Timed => t })
        case 1 => as.addData(rows.collect { case a: Other => a })
      }
    }

    private def streams(): Unit = {
      ts.toDF().withWatermark("ts", s"${delays(0)} seconds").createOrReplaceTempView("t")
      as.toDF().withWatermark("ta", s"${delays(1)} seconds").createOrReplaceTempView("a")
    }

    private def start(): StreamingQuery = {
      streams()
      seen = -1L
      spark.sql(sql).incrementalEnumerate("on_close").writeStream.option("checkpointLocation", checkpoint)
        .foreachBatch { (df: DataFrame, id: Long) =>
          if (twice) { val _ = df.count() }
          val _ = told.put(id, df.collect().toSeq)
        }.start()
    }

    private def check(running: StreamingQuery): Unit = {
      for (
        progress <- running.recentProgress if progress.batchId > seen && progress.durationMs.containsKey("addBatch")
      ) {
        seen = progress.batchId
        check(progress)
      }
      val expected = batch()
      val _ = assert(bag(all.toSeq) == expected, s"batch $seen at watermark $late")
    }

    private def check(progress: StreamingQueryProgress): Unit = {
      batches += 1
      val watermark = TimeBoundedRun.millis(progress.eventTime.get("watermark"))
      var came = 0
      for ((stream, s) <- Seq(ts, as).map(_.toString).zipWithIndex) {
        val ends =
          progress.sources.toSeq.filter(_.description == stream).flatMap(p => Option(p.endOffset)).filter(_ != "null")
        for (end <- ends.map(_.toInt).maxOption) {
          for (rows <- sent(s).slice(taken(s), end + 1); row <- rows) {
            came += 1
            if (row.time.forall(time => lateness(time) > late)) here(s) += row
          }
          taken(s) = math.max(taken(s), end + 1)
        }
      }
      if (came == 0 && batches > 1) {
        emptyBatches += 1
        val went = progress.stateOperators.map(_.numRowsRemoved).sum
        assert(went > 0, s"batch ${progress.batchId} has neither rows nor groups that close")
      }
      for (row <- told.get(progress.batchId)) all += row.toSeq
      late = watermark
    }

    /** The watermark at which a row of that time is late. */
    private def lateness(time: Long): Long =
      if (lateRows != OfOpenGroups || sql.contains("GROUP BY ts")) time
      else time + 10000 - time % 10000

    /** The query over the rows that came, as far as it is final. */
    private def batch(): Map[Seq[Any], Int] = {
      session.createDataset(here(0).toSeq.collect { case t: Timed => t })(Encoders.product[Timed])
        .createOrReplaceTempView("t")
      session.createDataset(here(1).toSeq.collect { case a: Other => a })(Encoders.product[Other])
        .createOrReplaceTempView("a")
      val query = spark.sql(sql)
      val result = closes.fold(query) { case (column, behind) =>
        query.where(s"$column <= TIMESTAMP_MILLIS(${late - 1000L * behind})")
      }
      val rows = result.collect().toSeq.map(_.toSeq)
      streams()
      bag(if (sql.contains("DISTINCT") && closes.isEmpty) rows.filter(_.head != null) else rows)
    }

    private def bag(rows: Seq[Seq[Any]]): Map[Seq[Any], Int] = rows.groupBy(identity).map { case (row, copies) =>
      row -> copies.size
    }
  }
}

private object FinalRowsSpec {

  /** What becomes of rows that are late. */
  sealed trait LateRows

  /** They count as long as their group is open, as in Spark: no join stores them. */
  case object OfOpenGroups extends LateRows
  case object Dropped extends LateRows

  /** Different things in different parts of the query, so there are none. */
  case object NotSent extends LateRows

  sealed trait Event { def time: Option[Long] }
  final case class Timed(k: Int, g: Int, x: Long, ts: Timestamp) extends Event {
    def time: Option[Long] = Option(ts).map(_.getTime)
  }
  final case class Other(k: Int, y: Int, ta: Timestamp) extends Event {
    def time: Option[Long] = Option(ta).map(_.getTime)
  }
}
