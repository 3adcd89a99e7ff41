package io.joinless.spark.changes

import io.joinless.spark.api._
import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.marks.{ChangeFeeds, TakenAsRows}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.Plans
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** A change feed without a mark is not read as plain rows. */
class ChangeFeedsSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    stream("plain", "id BIGINT, at BIGINT, text STRING, _commit_version BIGINT")
    stream("fed", "id BIGINT, at BIGINT, _change_type STRING")
    stream("versions", "id BIGINT, _commit_version BIGINT, _Commit_Timestamp TIMESTAMP")
    stream("counted", "id BIGINT, _change_type INT")
    spark.table("fed").changelog().createOrReplaceTempView("marked")
    spark.table("fed").selectExpr("id", "at", "_change_type AS t").takenAsRows.createOrReplaceTempView("taken")
    spark.range(3).selectExpr("id", "'insert' AS _change_type").createOrReplaceTempView("still")
  }

  private val feeds = Seq(
    "SELECT * FROM fed",
    "SELECT id FROM fed WHERE _change_type = 'insert'",
    "SELECT id FROM versions",
    "SELECT COUNT(*) AS n FROM fed",
    "SELECT p.id FROM plain p JOIN fed f ON p.id = f.id",
    "WITH f AS (SELECT id FROM fed) SELECT a.id FROM f a JOIN f b ON a.id = b.id",
    "SELECT id FROM plain WHERE id IN (SELECT id FROM fed)",
    "SELECT id FROM marked UNION ALL SELECT id FROM fed",
    "SELECT id FROM taken UNION ALL SELECT id FROM fed",
    "SELECT id FROM (SELECT id, get_json_object(text, '$.type') AS _change_type FROM plain)"
  )

  private val others = Seq(
    "SELECT id FROM plain",
    "SELECT id FROM counted",
    "SELECT id FROM marked WHERE id IN (SELECT id FROM marked)",
    "SELECT t, COUNT(*) AS n FROM taken GROUP BY t",
    "SELECT t.id FROM taken t JOIN plain p ON t.id = p.id",
    "SELECT p.id FROM plain p JOIN still s ON p.id = s.id",
    "SELECT id FROM (SELECT id, 'insert' AS _change_type FROM plain)"
  )

  private def analyzed(sql: String): LogicalPlan = Plans.analyzed(spark.sql(sql))

  for (sql <- feeds) test(s"a change feed is read as rows: $sql") {
    val reason = ChangeFeeds.unmarked(analyzed(sql))
    assert(reason.map(_.code).contains(Reason.UnmarkedChangeFeed))
    val requested = DeltaCompilation.attempt(spark, Changes.markedUnchecked(analyzed(sql), DeltaForm.Weight))
    assert(requested.left.toOption == reason)
  }

  for (sql <- others) test(s"no change feed is read as rows: $sql") {
    assert(ChangeFeeds.unmarked(analyzed(sql)).isEmpty)
  }

  private val three = "SELECT a.id FROM fed a JOIN fed b ON a.id = b.at JOIN fed c ON b.id = c.at"

  test("a plain query over it stays with Spark, unless its checkpoint holds a block of ours") {
    val kept = Inspection.optimized(spark, analyzed(three))
    assert(blocks(kept).isEmpty && reasons(kept).map(_.code).contains(Reason.UnmarkedChangeFeed))
    val rewritten = Inspection.optimized(spark, analyzed(three.replace("fed", "taken")))
    assert(blocks(rewritten).size == 1 && !rewritten.exists(_.isInstanceOf[TakenAsRows]))
    val shape = blocks(rewritten).head.shape
    val begun = RunState.Decided(Map(shape.id -> shape), sparkOperators = false)
    assert(blocks(Inspection.optimized(spark, analyzed(three), begun)).size == 1)
  }

  test("what the mark stands on is what the changes are of") {
    val compiled = DeltaCompilation.attempt(
      spark,
      Changes.markedUnchecked(analyzed(three.replace("fed", "taken")), DeltaForm.Weight)
    )
    assert(compiled.exists(!_.exists(_.isInstanceOf[TakenAsRows])))
  }

  test("a feed with its own column is not to rename it") {
    val refused = intercept[JoinlessAnalysisException](spark.sql("SELECT * FROM fed").incrementalEnumerate())
    assert(refused.getMessage.contains("UNMARKED_CHANGE_FEED"), refused.getMessage)
  }
}
