package io.joinless.spark.compile

import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.joinless.Plans
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** Errors of Spark's optimizer affect no query whose changes are requested: not when it is
  * compiled, and not in its batches.
  */
class WrongRulesSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  private val same = "(l.x = r.x OR (l.x IS NULL AND r.x IS NULL))"

  override def beforeAll(): Unit = {
    super.beforeAll()
    for (name <- Seq("l", "r")) {
      stream(
        s"${name}_feed",
        "g INT, x INT, a STRING COLLATE UTF8_LCASE, b STRING COLLATE UTF8_LCASE, _change_type STRING"
      )
      Changes.changelog(spark.table(s"${name}_feed"), None, None).createOrReplaceTempView(name)
    }
    stream("s", "g INT, x INT, a STRING COLLATE UTF8_LCASE, b STRING COLLATE UTF8_LCASE")
    spark.range(9).selectExpr("CAST(id AS INT) AS x", "CAST(id AS STRING) COLLATE UTF8_LCASE AS a")
      .createOrReplaceTempView("fixed")
  }

  /** The compiled plan after the optimizer of a batch. */
  private def inBatch(sql: String): LogicalPlan = {
    val compiled = DeltaCompilation(spark, Plans.analyzed(Changes.deltas(spark.sql(sql), DeltaForm.Weight)))
    spark.sessionState.optimizer.execute(compiled)
  }

  private def block(plan: LogicalPlan): JoinFreeJoin = plan.collectFirst { case block: JoinFreeJoin => block }.get

  /** Of filters and joins, below the block too. */
  private def conditionsOf(plan: LogicalPlan): Seq[Expression] = plan.collect {
    case filter: Filter => Seq(filter.condition)
    case join: Join => join.condition.toSeq
  }.flatten

  test("a = b OR (a IS NULL AND b IS NULL) is <=> where it must hold, and only there") {
    def relations(sql: String) = block(inBatch(sql)).shape
    val joins = relations(s"SELECT l.g FROM l JOIN r ON $same")
    assert(joins.relations.forall(_.keys.size == 1) && joins.residuals.isEmpty)
    for (condition <- Seq(s"NOT $same", s"coalesce($same, true)", s"CASE WHEN $same THEN l.g > 1 ELSE l.g < 5 END"))
      assert(!relations(s"SELECT l.g FROM l JOIN r ON l.g = r.g AND $condition").toString.contains("<=>"), condition)
  }

  test("so it is in batches, in conditions that Spark evaluates below the block") {
    val fixed = "(s.x = fixed.x OR (s.x IS NULL AND fixed.x IS NULL))"
    for (condition <- Seq(s"NOT $fixed", s"coalesce($fixed, true)", s"isnull($fixed)")) {
      val conditions = conditionsOf(inBatch(s"SELECT s.g FROM s JOIN l ON s.g = l.g, fixed WHERE $condition"))
      assert(!conditions.exists(_.exists(_.isInstanceOf[EqualNullSafe])), condition)
    }
  }

  test("columns that are equal by their collation do not stand for each other") {
    val exactly = "= 'Ann' COLLATE UTF8_BINARY"
    for (
      sql <- Seq(
        s"SELECT g FROM l WHERE a = b AND a $exactly",
        s"SELECT l.g FROM l, r WHERE l.a = r.a AND l.a $exactly",
        s"SELECT l.g FROM l JOIN r ON l.g = r.g WHERE l.a = l.b AND l.a $exactly",
        s"SELECT s.g FROM s JOIN l ON s.g = l.g, fixed WHERE s.a = fixed.a AND s.a $exactly"
      )
    ) {
      val conditions = conditionsOf(inBatch(sql)).flatMap(_.collect { case e @ EqualTo(_, Literal(_, _)) => e })
      assert(conditions.size == 1, sql)
    }
  }
}
