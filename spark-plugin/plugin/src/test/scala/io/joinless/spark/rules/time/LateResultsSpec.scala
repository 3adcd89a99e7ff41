package io.joinless.spark.rules.time

import io.joinless.spark.api.PythonApi
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.StreamingPlans
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.scalatest.funsuite.AnyFunSuite

/** Whether operators above a block may treat its results as late, by conditions and operators. */
class LateResultsSpec extends AnyFunSuite with StreamingPlans {

  stream("plain", "k BIGINT, x BIGINT, ts TIMESTAMP")
  for (name <- Seq("a", "b", "c"))
    spark.table("plain").withWatermark("ts", "10 seconds").createOrReplaceTempView(name)

  private val w = "window(a.ts, '10 minutes')"
  private val hour = "b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR"
  private val windows = Seq("a", "b").map(name => s"(SELECT k, x, window(ts, '10 minutes') AS w FROM $name) $name")

  private def notes(plan: LogicalPlan): Seq[Reason] = blocks(plan) match {
    case Seq() => throw new AssertionError(s"not rewritten: ${reasons(plan)}")
    case several => several.flatMap(_.notes)
  }

  private def two[A](body: => A): A = withConf("spark.joinless.minRelations" -> "2")(body)

  for (
    (sql, operator) <- Seq(
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1" -> "GROUP BY",
      s"SELECT $w AS w, COLLECT_LIST(b.x) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1" -> "GROUP BY",
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND b.ts >= a.ts GROUP BY 1" -> "GROUP BY",
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND $hour JOIN c ON c.k = b.k GROUP BY 1" -> "GROUP BY",
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN plain b ON a.k = b.k AND a.ts = b.ts GROUP BY 1" -> "GROUP BY",
      s"SELECT a.w, COUNT(*) AS n FROM ${windows.head} JOIN b ON a.k = b.k GROUP BY 1" -> "GROUP BY",
      "SELECT t, COUNT(*) AS n FROM (SELECT a.ts AS t, b.x + 1 AS y FROM a JOIN b ON a.k = b.k) WHERE y > 2 GROUP BY t" -> "GROUP BY",
      "SELECT DISTINCT a.ts, a.x FROM a JOIN b ON a.k = b.k" -> "DISTINCT",
      s"SELECT window(ts, '1 hour') AS w, COUNT(*) AS n FROM (SELECT a.ts FROM a JOIN b ON a.k = b.k UNION ALL SELECT ts FROM c) GROUP BY 1" -> "GROUP BY"
    )
  ) test(s"a warning: $sql") {
    two {
      val found = notes(optimized(sql)).distinct
      assert(found.map(_.code) == Seq(Reason.LateResults))
      assert(found.head.sentence.contains(s"$operator above the join drops results"), found.head.sentence)
      assert(found.head.sentence.startsWith("Results can have a time a."), found.head.sentence)
    }
  }

  for (
    sql <- Seq(
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND $hour GROUP BY 1",
      s"SELECT window(b.ts, '10 minutes') AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND b.ts >= a.ts GROUP BY 1",
      s"SELECT a.w, COUNT(*) AS n FROM ${windows.mkString(" JOIN ")} ON a.k = b.k AND a.w = b.w GROUP BY 1",
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND a.ts = b.ts GROUP BY 1",
      s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k AND $hour JOIN c ON c.k = b.k AND c.ts = b.ts GROUP BY 1",
      "SELECT a.x, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1",
      "SELECT a.x, MAX(a.ts) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1",
      "SELECT HOUR(a.ts) AS h, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1",
      "SELECT a.ts, a.x FROM a JOIN b ON a.k = b.k",
      "SELECT window(a.ts, '1 hour') AS w, COUNT(*) AS n FROM plain a JOIN plain b ON a.k = b.k GROUP BY 1"
    )
  ) test(s"no warning: $sql")(two(assert(notes(optimized(sql)).isEmpty)))

  test("dropDuplicates looks at all columns, and a watermark above the join is another one") {
    two {
      val joined = spark.sql("SELECT a.ts, a.x FROM a JOIN b ON a.k = b.k")
      assert(notes(optimized(joined.dropDuplicates("x"))).map(_.code) == Seq(Reason.LateResults))
      assert(notes(optimized(joined.dropDuplicatesWithinWatermark("x"))).map(_.code) == Seq(Reason.LateResults))
      assert(notes(optimized(joined.drop("ts").dropDuplicates("x"))).isEmpty)
      val own = spark.sql("SELECT a.ts + INTERVAL 1 HOUR AS t FROM plain a JOIN plain b ON a.k = b.k").withWatermark(
        "t",
        "1 hour"
      )
      assert(notes(optimized(own.dropDuplicates("t"))).isEmpty)
    }
  }

  test("a join that stays with Spark drops late rows of both sides") {
    val sql =
      "SELECT l.ts, c.x FROM (SELECT a.k, a.ts FROM a JOIN b ON a.k = b.k) l LEFT JOIN c ON l.k = c.k AND c.ts = l.ts"
    withConf("spark.joinless.outerJoins.enabled" -> "false", "spark.joinless.minRelations" -> "2") {
      assert(notes(optimized(sql)).map(_.sentence).exists(_.contains("A join of type LEFT OUTER above the join drops")))
    }
  }

  test("an outer join that is rewritten reports what bounds it, and what does not") {
    two {
      def text(bound: String) = PythonApi.explainText(spark.sql(
        s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN c ON a.k = c.k $bound LEFT JOIN b ON a.k = b.k AND $hour GROUP BY 1"
      ))
      assert(text("").contains("Warning: [LATE_RESULTS] Results can have a time a.ts of any age"), text(""))
      assert(!text("AND a.ts = c.ts").contains("Warning"))
    }
  }

  test("final rows are offered where they are exact, else changes") {
    two {
      def advice(sql: String) =
        PythonApi.explainText(spark.sql(sql)).linesIterator.filter(_.startsWith("Warning")).mkString
      val grouped = advice(s"SELECT $w AS w, COUNT(*) AS n FROM a JOIN b ON a.k = b.k GROUP BY 1")
      assert(grouped.contains(
        "Add a condition on both times, such as b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR. Or request the changes"
      ))
      assert(advice("SELECT DISTINCT a.ts, a.x FROM a JOIN b ON a.k = b.k").contains("emit=\"on_close\""))
    }
  }
}
