package io.joinless.spark.compile

import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import io.joinless.spark.spec.{BlockShape, BlockSpec, ColumnSpec, GroupFormat, SpecComparison, StateFormat}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.Plans
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The record of a query is the same in each process, whatever was planned before: it has no names
  * that Spark generates.
  */
class MadeNamesSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  private val schema =
    "k INT, x INT, s STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>>, l ARRAY<STRUCT<p: INT, q: STRING>>"

  override def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("t", "u")) {
      stream(s"${name}_feed", s"$schema, _change_type STRING")
      Changes.changelog(spark.table(s"${name}_feed"), None, None).createOrReplaceTempView(name)
    }
    stream("a", schema)
    stream("b", schema)
  }

  private val requested = Seq(
    "SELECT k, count_if(x > 1) AS n FROM t GROUP BY k",
    "SELECT k, SUM(NULLIF(x * 2, 4)) AS s, SUM(NULLIF(x * 3, 4)) AS r, COUNT(*) AS n FROM t GROUP BY k",
    "SELECT k, NULLIF(x + 1, 2) AS z FROM t WHERE x * x BETWEEN 1 AND 9",
    "SELECT t.k, NULLIF(t.x + 1, 2) AS z, u.x FROM t JOIN u ON t.k = u.k AND t.x * u.x BETWEEN 1 AND 9",
    "SELECT t.k, u.x FROM t JOIN u ON NULLIF(t.x + 1, 2) = u.k",
    "SELECT t.k, count_if(t.x + u.x > 1) AS n, SUM(NULLIF(u.x * 2, 4)) AS s FROM t JOIN u ON t.k = u.k GROUP BY t.k",
    "SELECT t.k, u.x FROM t LEFT JOIN u ON NULLIF(t.x + 1, 2) = u.k",
    "SELECT t.s.b.c, u.s.a FROM t JOIN u ON t.s.b.c = u.s.a AND t.s.b.d = u.s.b.d",
    "SELECT k, e.p FROM t LATERAL VIEW explode(l) AS e WHERE x * x BETWEEN 0 AND 9",
    "SELECT k, x + 1 AS y, count_if(x > 1) AS n FROM t GROUP BY ROLLUP(k, x + 1)",
    "SELECT k, count(DISTINCT x) AS n, count(DISTINCT NULLIF(x + 1, 3)) AS m FROM t GROUP BY k HAVING count_if(x > 0) > 0",
    "SELECT k FROM t WHERE x IN (SELECT NULLIF(x + 1, 2) FROM u)",
    "SELECT k, (SELECT max(u.x) FROM u WHERE u.k = t.k AND u.x + 1 BETWEEN 0 AND 10) AS m FROM t",
    "SELECT k, row_number() OVER (PARTITION BY k ORDER BY NULLIF(x + 1, 3)) AS r FROM t",
    "SELECT k, NULLIF(x + 1, 3) AS y FROM t ORDER BY y LIMIT 3",
    "SELECT t.k, v.y FROM t JOIN (SELECT k, NULLIF(x + 1, 3) AS y FROM t UNION ALL " +
      "SELECT k, x FROM u WHERE x * x BETWEEN 0 AND 9) v ON v.k = t.k",
    "SELECT n, count(*) AS c FROM (SELECT k, count_if(x > 1) AS n FROM t GROUP BY k) GROUP BY n",
    "SELECT k, transform(l, e -> e.p + 1) AS z FROM t",
    "SELECT k, count_if(x > 1) AS n FROM a GROUP BY k"
  )

  private val plain = Seq(
    "SELECT a.k, NULLIF(a.x + 1, 2) AS z, b.x FROM a JOIN b ON a.k = b.k",
    "SELECT a.k, b.x FROM a JOIN b ON a.k = b.k WHERE a.x * a.x BETWEEN 1 AND 9 AND a.x + b.x + 1 BETWEEN 0 AND 100",
    "SELECT a.k, b.x FROM a JOIN b ON NULLIF(a.x + 1, 2) = b.k",
    "SELECT a.k, count_if(a.x + b.x > 1) AS n, SUM(NULLIF(a.x * 2, 4)) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.k",
    "SELECT a.k, v.y FROM a JOIN (SELECT k, NULLIF(x + 1, 3) AS y FROM a UNION ALL SELECT k, x FROM b) v ON v.k = a.k",
    "SELECT a.s.b.c, b.s.a FROM a JOIN b ON a.s.b.c = b.s.a AND a.s.b.d = b.s.b.d"
  )

  private def planned(sql: String): LogicalPlan = withConf("spark.joinless.minRelations" -> "2")(optimized(sql))

  private def compiled(sql: String): LogicalPlan =
    DeltaCompilation(spark, Plans.analyzed(Changes.deltas(spark.sql(sql), DeltaForm.ChangeType)))

  private def shapes(plan: LogicalPlan): Seq[BlockShape] = plan.collect { case join: JoinFreeJoin => join.shape }

  private def records(plan: LogicalPlan): Seq[String] =
    shapes(plan).map(shape => StateFormat.toJson(BlockSpec(shape, shape.attributes.map(_ => 1)))) ++
      plan.collect { case groups: Groups => GroupFormat.toJson(groups.shape) }

  for ((sql, record) <- requested.map(_ -> compiled _) ++ plain.map(_ -> planned _))
    test(s"plan_ the record is the same after other queries: $sql") {
      val first = records(record(sql))
      assert(optimized("SELECT NULLIF(x + 1, 2) AS y FROM a WHERE x * x BETWEEN 1 AND 2").resolved)
      assert(records(record(sql)) == first)
      assert(first.nonEmpty)
      for (name <- Seq("_common_expr", "_groupingexpression", "_groupingmapsort", "_extract_", "#"))
        assert(!first.exists(_.contains(name)), name)
    }

  test("a record of a release that took such names as they came goes on, with the same types only") {
    val now = shapes(compiled(requested(1))).head
    def recorded(change: ColumnSpec => ColumnSpec) = now.copy(inputs = now.inputs.map { input =>
      input.copy(columns = input.columns.map(c => if (c.name.contains(" * ")) change(c) else c))
    })
    val old = recorded(_.copy(name = "_common_expr_7"))
    assert(old.inputs.flatMap(_.columns).count(_.name == "_common_expr_7") == 2)
    assert(SpecComparison.difference(old, now).isEmpty && SpecComparison.storesSame(old, now))
    val wider = recorded(_.copy(name = "_common_expr_7", dataType = org.apache.spark.sql.types.LongType))
    assert(SpecComparison.difference(wider, now).isDefined)
    assert(SpecComparison.difference(recorded(_.copy(name = "y")), now).isDefined)
  }
}
