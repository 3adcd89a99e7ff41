package io.joinless.spark.compile

import java.util.concurrent.{Callable, Executors}

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.api.PythonApi
import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.spec.{BlockShape, GroupShape, SpecComparison}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** A query has the meaning that it has in the session of its DataFrame, whatever thread compiles
  * it, and whatever session is active in that thread.
  */
class ThreadsSpec extends AnyFunSuite with SharedSpark with BeforeAndAfterAll {

  private val pool = Executors.newFixedThreadPool(1)

  private lazy val folder = TestFolders.create("feed").toString

  override def afterAll(): Unit = {
    pool.shutdown()
    super.afterAll()
  }

  private def session(confs: (String, String)*): SparkSession = {
    val own = spark.newSession()
    confs.foreach { case (key, value) => own.conf.set(key, value) }
    Changes.changelog(feed(own), None, None).createOrReplaceTempView("t")
    own
  }

  private def feed(own: SparkSession): DataFrame =
    own.readStream.schema("k INT, ts TIMESTAMP, t STRING, _change_type STRING").parquet(folder)

  private val tokyo = Seq(
    "spark.sql.session.timeZone" -> "Asia/Tokyo",
    "spark.sql.ansi.enabled" -> "false",
    "spark.sql.caseSensitive" -> "true"
  )

  private def query(own: SparkSession, since: String = "2026-01-01 00:00:00"): DataFrame = own.sql(
    s"SELECT a.k, b.k AS c, CAST(a.t AS INT) AS n FROM t a JOIN t b ON a.k = b.k " +
      s"WHERE a.ts >= TIMESTAMP'$since' AND b.ts + INTERVAL 1 DAY > a.ts AND CAST(b.t AS DATE) < DATE'2026-03-01'"
  )

  private def shapes(df: DataFrame): (Seq[BlockShape], Seq[GroupShape]) = {
    val plan = DeltaCompilation(df.sparkSession, Changes.marked(Plans.analyzed(df), DeltaForm.Weight))
    (
      plan.collect { case join: JoinFreeJoin => join.shape },
      plan.collect { case groups: Groups => groups.shape }
    )
  }

  /** Runs `body` in a thread of a pool, in which this session is active, or none. */
  private def elsewhere[A](active: Option[SparkSession])(body: => A): A = pool.submit(new Callable[A] {
    override def call(): A = {
      active.fold(SparkSession.clearActiveSession())(SparkSession.setActiveSession)
      try body
      finally SparkSession.clearActiveSession()
    }
  }).get()

  private def own[A](session: SparkSession)(body: => A): A = elsewhere(Some(session))(body)

  test("what is recorded, explained and compared is the same in each thread and session") {
    val (there, other) = (session(tokyo: _*), session("spark.sql.session.timeZone" -> "America/New_York"))
    val grouped =
      "SELECT date_trunc('DAY', ts) AS d, COUNT(*) AS n FROM t WHERE ts > TIMESTAMP'2026-01-01 00:00:00' GROUP BY 1"
    for (df <- Seq(query(there), there.sql(grouped), query(there).groupBy("c").count())) {
      val expected = own(there)(shapes(df))
      val text = own(there)(PythonApi.explainText(df))
      for (active <- Seq(None, Some(other), Some(spark))) {
        assert(elsewhere(active)(shapes(df)) == expected)
        assert(elsewhere(active)(PythonApi.explainText(df)) == text)
      }
    }
  }

  test("the same text in another time zone is another query") {
    val (there, utc) = (session(tokyo: _*), session(tokyo.tail :+ "spark.sql.session.timeZone" -> "UTC": _*))
    def shape(df: DataFrame) = shapes(df)._1.head
    def compared(was: DataFrame, is: DataFrame) = SpecComparison.difference(shape(was), shape(is))
    val sql = "SELECT a.k FROM t a JOIN t b ON a.k = b.k WHERE a.ts >= TIMESTAMP'2026-01-01 00:00:00'"
    assert(compared(there.sql(sql), there.sql(sql)).isEmpty)
    assert(compared(there.sql(sql), utc.sql(sql)).exists(_._2.contains("in the time zone Asia/Tokyo")))
    // nothing of these depends on it
    val without = "SELECT a.k FROM t a JOIN t b ON a.k = b.k WHERE a.k > 1"
    assert(compared(there.sql(without), utc.sql(without)).isEmpty)
    // conditions below a mark count as those above
    def below(own: SparkSession) =
      Changes.changelog(feed(own).where("ts >= TIMESTAMP'2026-01-01 00:00:00'"), None, None).groupBy("k").count()
    assert(compared(below(there), below(utc)).exists(_._2.contains("in the time zone Asia/Tokyo")))
    // groups without a block
    val minutes = "SELECT ts > TIMESTAMP'2026-01-01 00:00:00' AS late, COUNT(*) AS n FROM feed GROUP BY 1"
    val zones = for (own <- Seq(there, utc)) yield {
      Changes.rows(feed(own)).createOrReplaceTempView("feed")
      shapes(own.sql(minutes))._2.head.zone
    }
    assert(zones == Seq(Some("Asia/Tokyo"), Some("UTC")))
  }

  test("a mark finds its column by the case sensitivity of its DataFrame") {
    val there = session(tokyo: _*)
    val feed = there.readStream.schema("k INT, _Change_Type STRING").parquet(folder)
    for (active <- Seq(None, Some(spark)))
      assert(
        elsewhere(active)(intercept[Exception](Changes.changelog(feed, None, None))).getMessage.contains("_Change_Type")
      )
  }
}
