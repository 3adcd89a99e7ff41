package io.joinless.spark.compile

import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import io.joinless.spark.spec.{BlockSpec, GroupFormat, MeaningSpec, NodeId, SpecComparison, StateFormat}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.Plans
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** Two columns of a query are exchanged at a restart: deletes would have other values than their
  * inserts, so the query is refused.
  */
class ExchangedColumnsSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("t", "u")) {
      stream(s"feed_$name", "k BIGINT, x INT, y INT, _change_type STRING")
      Changes.changelog(spark.table(s"feed_$name"), None, None).createOrReplaceTempView(name)
    }
  }

  private def compiled(sql: String): LogicalPlan =
    DeltaCompilation(spark, Plans.analyzed(Changes.deltas(spark.sql(sql), DeltaForm.Weight)))

  /** What differs between the operators of two queries, each read back from its record.
    *
    * @param earlier the release that wrote the first one did not record the columns in their order
    */
  private def differences(before: LogicalPlan, now: LogicalPlan, earlier: Boolean = false): Seq[String] = {
    val joins = Seq(before, now).map(_.collect { case join: JoinFreeJoin => join.shape }).transpose.map {
      case Seq(was, is) =>
        val release = if (earlier) was.having(MeaningSpec, was.meaning.map(_.copy(emitted = None))) else was
        val spec = BlockSpec(release.copy(id = NodeId(0)), release.attributes.map(_ => 1))
        SpecComparison.difference(StateFormat.fromJson(StateFormat.toJson(spec)).shape, is).map(_._2)
      case other => fail(other.toString)
    }
    val groups = Seq(before, now).map(_.collect { case groups: Groups => groups.shape }).transpose.map {
      case Seq(was, is) =>
        val release = if (earlier) was.copy(emitted = None) else was
        GroupFormat.difference(GroupFormat.fromJson(GroupFormat.toJson(release), "/cp"), is)
      case other => fail(other.toString)
    }
    (joins ++ groups).flatten
  }

  for (
    (what, first, second) <- Seq(
      ("explode", "SELECT k, x + 1 AS a, y + 1 AS b, explode(array(x, y)) AS e FROM t", ""),
      (
        "explode of joins",
        "SELECT t.x + 1 AS a, t.y + 1 AS b, explode(array(u.x)) AS e FROM t JOIN u ON t.k = u.k",
        ""
      ),
      ("columns themselves", "SELECT k, x AS a, y AS b, explode(array(x, y)) AS e FROM t", ""),
      (
        "a window",
        "SELECT a, b, SUM(k) OVER (PARTITION BY k ORDER BY a, b) AS n FROM (SELECT k, x + 1 AS a, y + 1 AS b FROM t)",
        ""
      ),
      ("window functions", "SELECT SUM(x) OVER (PARTITION BY k) AS a, SUM(y) OVER (PARTITION BY k) AS b FROM t", ""),
      (
        "a union",
        "SELECT x + 1 AS a, y + 1 AS b FROM t UNION ALL (SELECT t.x AS a, t.y AS b FROM t JOIN u ON t.k = u.k)",
        ""
      ),
      (
        "explode above groups",
        "SELECT a, b, explode(array(k)) AS e FROM (SELECT k, MAX(x) AS a, MIN(y) AS b FROM t GROUP BY k)",
        "SELECT b AS a, a AS b, explode(array(k)) AS e FROM (SELECT k, MAX(x) AS a, MIN(y) AS b FROM t GROUP BY k)"
      )
    )
  ) test(s"plan_ $what") {
    val exchanged =
      if (second.nonEmpty) second else s"SELECT * EXCEPT (a, b), b AS a, a AS b FROM ($first)"
    def reordered(sql: String) = compiled(s"SELECT a, b, * EXCEPT (a, b) FROM ($sql)")
    val (was, is) = (reordered(first), reordered(exchanged))
    assert(differences(was, reordered(first)) == Nil)
    assert(differences(was, reordered(first), earlier = true) == Nil)
    assert(differences(was, is).nonEmpty)
  }
}
