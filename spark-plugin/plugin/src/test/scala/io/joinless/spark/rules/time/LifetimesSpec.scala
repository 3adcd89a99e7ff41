package io.joinless.spark.rules.time

import io.joinless.spark.changes.Changes
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.explain.ViewTreeFacts
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** The times until which rows are needed, by the conditions of a query. */
class LifetimesSpec extends AnyFunSuite with StreamingPlans {

  for (name <- Seq("a", "b", "c", "d")) {
    stream(s"raw_$name", "k BIGINT, x BIGINT, ts TIMESTAMP, other TIMESTAMP")
    spark.table(s"raw_$name").withWatermark("ts", "10 seconds").createOrReplaceTempView(name)
  }

  private def facts(sql: String, confs: (String, String)*): ViewTreeFacts =
    withConf(Seq("spark.joinless.minRelations" -> "2") ++ confs: _*)(ViewTreeFacts(block(sql).shape))

  private def until(where: String, relations: Int = 2, confs: Seq[(String, String)] = Nil): Map[String, String] = {
    val names = Seq("a", "b", "c", "d").take(relations)
    val keys = names.tail.map(n => s"a.k = $n.k")
    val on = (keys :+ where).mkString(" AND ")
    facts(s"SELECT a.x FROM ${names.mkString(", ")} WHERE $on", confs: _*).neededUntil.toMap
  }

  for (
    (condition, a, b) <- Seq(
      ("b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR", "a.ts + 1 hour", "b.ts"),
      (
        "b.ts > a.ts AND b.ts < a.ts + INTERVAL 90 MINUTE",
        "a.ts + 1 hour 29 minutes 59.999999 seconds",
        "b.ts - 0.000001 seconds"
      ),
      ("b.ts - a.ts <= INTERVAL 5 SECOND AND a.ts - b.ts <= INTERVAL 1 DAY", "a.ts + 5 seconds", "b.ts + 1 day"),
      (
        "INTERVAL 5 SECOND >= b.ts - a.ts AND INTERVAL -3 SECOND <= b.ts - a.ts",
        "a.ts + 5 seconds",
        "b.ts + 3 seconds"
      ),
      ("a.ts = b.ts", "a.ts", "b.ts"),
      ("a.ts + INTERVAL 2 SECOND = b.ts", "a.ts + 2 seconds", "b.ts - 2 seconds"),
      ("CAST(b.ts AS BIGINT) - 10 = CAST(a.ts AS BIGINT)", "a.ts + 10.999999 seconds", "b.ts - 9.000001 seconds"),
      ("b.ts <= a.ts + INTERVAL 1 MONTH AND a.ts <= b.ts + INTERVAL 1 MONTH", "a.ts + 31 days", "b.ts + 31 days"),
      ("b.ts BETWEEN a.ts AND a.other AND a.ts <= b.ts", "a.other", "b.ts"),
      (
        "b.ts < a.ts + make_interval(0, 0, 0, 1, 0, 0, 0) AND b.ts >= a.ts",
        "a.ts + 23 hours 59 minutes 59.999999 seconds",
        "b.ts"
      )
    )
  ) test(s"bounds of $condition")(assert(until(condition) == Map("a" -> a, "b" -> b)))

  test("a bound on one side keeps the other side for ever, and explain says what is missing") {
    assert(until("b.ts >= a.ts") == Map("b" -> "b.ts"))
    val found = facts("SELECT a.x FROM a, b WHERE a.k = b.k AND b.ts >= a.ts").keptForEver
    assert(
      found == Seq("a" -> "no condition that Joinless knows how to read bounds the event time of b by a time of a")
    )
    for (
      nothing <-
        Seq("a.ts <=> b.ts", "b.ts <> a.ts", "b.ts <= a.ts OR a.x = 1", "b.other <= a.ts", "date(b.ts) = date(a.ts)")
    )
      assert(until(nothing).isEmpty, nothing)
    assert(facts("SELECT a.x FROM a, b WHERE a.k = b.k").keptForEver.map(_._1) == Seq("a", "b"))
    assert(facts("SELECT a.x FROM raw_a a, raw_b b WHERE a.k = b.k AND a.ts = b.ts").keptForEver.isEmpty)
  }

  test("bounds are closed over all relations") {
    val chain = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 2 HOURS"
    assert(until(chain, 3) == Map("a" -> "a.ts + 3 hours", "b" -> "b.ts + 2 hours", "c" -> "c.ts"))
    assert(until(s"$chain AND c.ts <= a.ts + INTERVAL 30 MINUTES", 3)("a") == "a.ts + 30 minutes")
    // the earliest time of a row of d does not matter, the latest does
    assert(until(s"$chain AND a.ts >= d.ts", 4) == Map("a" -> "a.ts + 3 hours", "b" -> "b.ts + 2 hours", "c" -> "c.ts"))
    assert(until(s"$chain AND d.ts >= a.ts", 4) == Map("d" -> "d.ts + 3 hours"))
  }

  test("a day of the calendar is longer or shorter where clocks are set") {
    val bound = "b.ts BETWEEN a.ts - INTERVAL 1 DAY AND a.ts + INTERVAL 1 DAY"
    assert(until(bound, confs = Seq("spark.sql.session.timeZone" -> "America/New_York"))("a").startsWith(
      "a.ts + 1 day 1 hour"
    ))
    val hours = "b.ts BETWEEN a.ts - INTERVAL 23 HOURS AND a.ts + INTERVAL 23 HOURS"
    assert(until(hours, confs = Seq("spark.sql.session.timeZone" -> "America/New_York"))("a") == "a.ts + 23 hours")
  }

  test("months beyond all numbers bound nothing, and many bound what they are") {
    def of(months: Int) =
      until(s"b.ts <= a.ts + INTERVAL '$months' MONTH AND b.ts >= a.ts - INTERVAL '1' MONTH").get("a")
    assert(of(80000000).isEmpty)
    assert(of(2000000).contains("a.ts + 62000000 days"))
  }

  test("a constant that fails bounds nothing: only rows that reach it make the query fail, as in Spark") {
    val unfolded = Seq(
      "spark.sql.optimizer.excludedRules" -> "org.apache.spark.sql.catalyst.optimizer.ConstantFolding",
      "spark.sql.ansi.enabled" -> "true"
    )
    def of(distance: String) = until(s"b.ts >= a.ts AND $distance", confs = unfolded)
    val known = "CAST(b.ts AS BIGINT) <= CAST(a.ts AS BIGINT) + CAST('60' AS BIGINT)"
    assert(of(known).keySet == Set("a", "b"))
    for (
      fails <- Seq(
        known.replace("'60'", "'x'"),
        known.replace("CAST('60' AS BIGINT)", "(9223372036854775807 + CAST('1' AS INT))"),
        known.replace("CAST('60' AS BIGINT)", "CAST(raise_error('no') AS BIGINT)"),
        "b.ts <= a.ts + CAST('x' AS INTERVAL HOUR)",
        "b.ts - a.ts <= CAST('x' AS INTERVAL HOUR)",
        "b.ts <= a.ts + CAST('x' AS INTERVAL MONTH)"
      )
    ) assert(of(fails) == Map("b" -> "b.ts"), fails)
  }

  test("a constant that fails in one part of a union bounds nothing of that part") {
    def until(seconds: String) = {
      val sql = "SELECT p.k, p.ts FROM " +
        s"(SELECT k, ts, '60' AS d FROM a UNION ALL SELECT k, ts, '$seconds' AS d FROM c) p JOIN b ON p.k = b.k AND b.ts >= p.ts " +
        "AND CAST(b.ts AS BIGINT) <= CAST(p.ts AS BIGINT) + CAST(p.d AS BIGINT)"
      DeltaCompilation.attempt(spark, Plans.analyzed(Changes.deltas(spark.sql(sql), DeltaForm.OnClose))).map(
        _.collectFirst { case join: JoinFreeJoin => ViewTreeFacts(join.shape).neededUntil.toMap }.get
      )
    }
    assert(until("60").exists(_.keySet == Set("p", "b")), until("60"))
    assert(until("x").exists(_.keySet == Set("b")), until("x"))
  }

  test("windows as keys") {
    val sql = "SELECT a.x FROM (SELECT k, x, window(ts, '10 minutes') AS w FROM a) a JOIN " +
      "(SELECT k, window(ts, '10 minutes') AS w FROM b) b ON a.k = b.k AND a.w = b.w"
    assert(facts(sql).neededUntil.toMap == Map("a" -> "the end of a.w", "b" -> "the end of b.w"))
  }

  test("a time that is not stored, or has no watermark, bounds nothing") {
    val sql = "SELECT a.x FROM a JOIN raw_b b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"
    val found = facts(sql)
    assert(found.neededUntil.toMap == Map("b" -> "b.ts"))
    assert(found.keptForEver.map(_._1) == Seq("a"))
  }

  test("a block whose results would be counted is enumerated where its rows can go") {
    val sql =
      "SELECT a.x, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND a.ts = b.ts JOIN c ON b.k = c.k AND b.ts = c.ts GROUP BY a.x"
    val shape = block(sql).shape
    assert(shape.reduction.isEmpty && shape.forgets)
  }
}
