package io.joinless.spark.changes

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.SharedSpark
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.spec.{GroupShape, RecordedQuery}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** As-of joins, in the forms in which people write them: after every batch their changes add up to
  * the result of batch SQL.
  */
class AsOfQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val joins = Seq(
    "SELECT t.k, t.x, v.y FROM t LEFT JOIN LATERAL (SELECT a.y FROM a WHERE a.k = t.k AND a.y <= t.g ORDER BY a.y DESC LIMIT 1) v ON true",
    "SELECT u.k, v.x, v.d FROM u, LATERAL (SELECT t.x, t.d FROM t WHERE t.k = u.k AND t.g < u.g ORDER BY t.g DESC, t.x, t.d LIMIT 1) v",
    "SELECT k, (SELECT MAX_BY(t.x + 1, t.x) FROM t WHERE t.k = u.k AND t.x <= u.g) AS x FROM u",
    "SELECT k, (SELECT COALESCE(MIN_BY(t.x, t.x), -5) FROM t WHERE t.k = u.k AND u.g < t.x) AS x FROM u",
    "SELECT k, (SELECT u.g FROM u WHERE u.k = t.k AND u.g >= t.g ORDER BY u.g LIMIT 1) AS g FROM t",
    "SELECT t.k, v.y FROM t LEFT JOIN LATERAL (SELECT a.y FROM a WHERE a.k = t.k AND a.y <= t.g AND a.y > t.g - 2 ORDER BY a.y DESC LIMIT 1) v",
    "SELECT t.k, t.g, v.y FROM t, LATERAL (SELECT a.y FROM a WHERE a.k = t.k AND a.y >= t.g AND a.y <= t.g + 1 ORDER BY a.y LIMIT 1) v",
    "SELECT k, g FROM t WHERE x > (SELECT a.y FROM a WHERE a.k = t.k AND a.y <= t.g ORDER BY a.y DESC LIMIT 1)",
    "SELECT k, (SELECT MAX_BY(a.y, a.y) FROM a WHERE a.k = u.k AND a.y < u.g) AS y, (SELECT MIN_BY(t.g, t.g) FROM t WHERE t.k = u.k AND t.g > u.g) AS g FROM u",
    "SELECT v.y, COUNT(*) AS n, SUM(t.x) AS s FROM t LEFT JOIN LATERAL (SELECT a.y FROM a WHERE a.k = t.k AND a.y <= t.g ORDER BY a.y DESC LIMIT 1) v GROUP BY v.y",
    "SELECT t.k, a.y, v.g FROM t JOIN a ON t.k = a.k LEFT JOIN LATERAL (SELECT u.g FROM u WHERE u.k = a.y AND u.g <= t.g ORDER BY u.g DESC LIMIT 1) v",
    "SELECT u.k, v.y FROM u, LATERAL (SELECT a.y FROM a WHERE a.y <= u.g ORDER BY a.y DESC LIMIT 1) v",
    "SELECT u.k, (SELECT MAX_BY(t.x, t.x) FROM t WHERE t.k <=> u.k AND t.x <= u.g) AS x FROM u",
    "SELECT u.k, (SELECT MAX_BY(a.y, a.y) FROM a WHERE a.k = u.k AND a.y <= u.g AND u.k > 1 AND a.k < 3) AS y FROM u",
    "SELECT u.k, v.x, v.y FROM u LEFT JOIN LATERAL (SELECT t.x, a.y FROM t JOIN a ON a.k = t.k WHERE t.k = u.k AND t.x <= u.g ORDER BY t.x DESC, a.y LIMIT 1) v",
    "SELECT c.k, c.n, v.g FROM (SELECT k, INT(COUNT(*)) AS n FROM t GROUP BY k) c LEFT JOIN LATERAL (SELECT u.g FROM u WHERE u.k = c.k AND u.g <= c.n ORDER BY u.g DESC LIMIT 1) v",
    "SELECT z.k, z.g, w.y FROM (SELECT t.k, v.g FROM t, LATERAL (SELECT u.g FROM u WHERE u.k = t.k AND u.g <= t.g ORDER BY u.g DESC LIMIT 1) v) z LEFT JOIN LATERAL (SELECT a.y FROM a WHERE a.k = z.k AND a.y >= z.g ORDER BY a.y LIMIT 1) w",
    "SELECT t.k, v.g FROM t LEFT JOIN LATERAL (SELECT u.g, u.k + 1 AS l FROM u WHERE u.k = t.k AND u.g <= t.g ORDER BY u.g DESC LIMIT 1) v WHERE t.k > 0 AND t.x > 0",
    "SELECT t.k, v.n FROM t LEFT JOIN LATERAL (SELECT c.n FROM (SELECT k, g, COUNT(*) AS n FROM u GROUP BY k, g) c WHERE c.k = t.k AND c.g <= t.g ORDER BY c.g DESC LIMIT 1) v",
    "SELECT t.k, t.g FROM t LEFT JOIN LATERAL (SELECT u.g FROM u WHERE u.k = t.k AND u.g <= t.g ORDER BY u.g DESC LIMIT 1) v WHERE v.g IS NULL AND NOT EXISTS (SELECT 1 FROM a WHERE a.k = t.k)",
    "SELECT b.k, (SELECT MAX_BY(r.x, r.x) FROM t r WHERE r.k = b.k AND r.x < b.x) AS before FROM t b",
    "SELECT t.k, v.* FROM t, LATERAL (SELECT MAX_BY(u.g, u.g) AS g, COALESCE(MAX_BY(u.g, u.g), 9) AS h FROM u WHERE u.k = t.k AND u.g <= t.g) v",
    "SELECT u.k, (SELECT MAX_BY(60 DIV (t.k - 3), t.x) FROM t WHERE t.k = u.k AND t.k <> 3 AND t.x <= u.g) AS x FROM u WHERE u.k < 2",
    "SELECT t.k, v.y, v.z FROM t LEFT JOIN LATERAL (SELECT COALESCE(a.y, 9) AS y, 5 AS z FROM a WHERE a.k = t.k AND a.y + 0L <= t.g ORDER BY a.y + 0L DESC LIMIT 1) v",
    "SELECT COUNT(*) AS n FROM u, LATERAL (SELECT a.y FROM a WHERE a.k = u.k AND a.y <= u.g ORDER BY a.y DESC LIMIT 1) v",
    "SELECT k, (SELECT MAX_BY(r.x, r.at) FROM (SELECT *, TIMESTAMP_SECONDS(k) AS at FROM t) r WHERE r.g = b.g AND r.at <= b.at AND r.at > b.at - INTERVAL 2 SECONDS AND r.x = r.k) AS x FROM (SELECT *, TIMESTAMP_SECONDS(g) AS at FROM u) b",
    "(SELECT k, (SELECT MAX_BY(a.y, a.y) FROM a WHERE a.k = u.k AND a.y <= u.g) AS y FROM u) UNION ALL SELECT k, y FROM a"
  )

  /** The groups of an as-of join that a query has. */
  private def asOf(query: DataFrame): Seq[Groups] =
    DeltaCompilation(spark, Changes.markedUnchecked(Plans.analyzed(query), DeltaForm.Weight)).collect {
      case groups: Groups if groups.shape.isAsOf => groups
    }

  for ((sql, i) <- joins.zipWithIndex) test(s"changes of as-of joins: $sql") {
    val tables = new Tables
    tables.streams()
    assert(asOf(spark.sql(sql)).nonEmpty, "no as-of join was found")
    withConf("spark.joinless.crossProducts.enabled" -> "true")(checkInTurn(sql, i))
  }

  test("the complete result of as-of joins is that of the changes") {
    for (i <- Seq(0, 1, 2, 4, 9, 14)) checkFull(joins(i), i.toLong)
  }

  test("a checkpoint goes on as it was begun, with as-of joins or without") {
    val tables = new Tables
    tables.streams()
    val marked = Changes.markedUnchecked(Plans.analyzed(spark.sql(joins.head)), DeltaForm.Weight)
    def record(recorded: Option[RecordedQuery]) = {
      val plan = DeltaCompilation(spark, marked, recorded)
      RecordedQuery(
        plan.collect { case join: JoinFreeJoin => join.shape },
        plan.collect { case groups: Groups => groups.shape }
      )
    }
    def isAsOf(query: RecordedQuery) = query.groups.exists(_.isAsOf)
    val before = record(Some(RecordedQuery(Nil, Seq(GroupShape(IndexedSeq.empty, IndexedSeq.empty)))))
    assert(!isAsOf(before) && record(Some(before)) == before)
    val now = record(None)
    assert(isAsOf(now) && record(Some(now)) == now)
  }

  private val others = Seq(
    "a condition on both sides" -> "SELECT k, (SELECT MAX_BY(t.x, t.x) FROM t WHERE t.k = u.k AND t.x <= u.g AND t.g <> u.g) AS x FROM u",
    "another order than that of the bound" -> "SELECT k, (SELECT MAX_BY(t.g, t.g) FROM t WHERE t.k = u.k AND t.x <= u.g) AS x FROM u",
    "an order against the bound" -> "SELECT k, (SELECT MIN_BY(t.x, t.x) FROM t WHERE t.k = u.k AND t.x <= u.g) AS x FROM u",
    "several rows" -> "SELECT u.k, v.x FROM u, LATERAL (SELECT t.x FROM t WHERE t.k = u.k AND t.x <= u.g ORDER BY t.x DESC LIMIT 2) v",
    "doubles as times" -> "SELECT k, (SELECT MAX_BY(r.d, r.d) FROM t r WHERE r.k = t.k AND r.d < t.d) AS d FROM t"
  )

  for (((what, sql), i) <- others.zipWithIndex) test(s"no as-of join, but right: $what") {
    val tables = new Tables
    tables.streams()
    assert(asOf(spark.sql(sql)).isEmpty)
    check(sql, Seeds.of(sql), if (i % 2 == 0) "change_type" else "weight")
  }
}
