package io.joinless.spark.rules.rewrite

import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.plans.nodes.IdleSource
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.StreamingPlans
import io.joinless.spark.spec.{BlockShape, NodeId}
import io.joinless.spark.start.HideIdleSources
import org.apache.spark.sql.catalyst.plans.logical.{Join, LocalRelation, LogicalPlan, Subquery}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The plans that the rule does not change, and what it obeys: recorded decisions, scopes, idle
  * sources.
  */
class RewriteSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    stream("e", "src BIGINT, dst BIGINT")
    stream("f", "src BIGINT, dst BIGINT")
    spark.range(5).selectExpr("id AS src", "id + 1 AS dst").createOrReplaceTempView("batch")
  }

  private val l2 = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"
  private val l3 =
    "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val both = s"$l3 UNION ALL SELECT a.src, a.src, b.dst, b.dst FROM f a JOIN f b ON a.dst = b.src"

  private def rule(state: RunState, decide: Map[NodeId, BlockShape] => Unit = _ => ()) =
    new RewriteStreamingJoins(() => JoinlessConf.active, () => state, decide)

  private def hide(
      state: RunState,
      rewrites: LogicalPlan => Boolean = _ => fail("called"),
      keepAll: () => Unit = () => fail("decided")
  ) = new HideIdleSources(() => state, rewrites, keepAll)

  /** The plan as Spark has it when our rule is called. */
  private def before(sql: String): LogicalPlan = withConf("spark.joinless.enabled" -> "false")(optimized(sql))

  test("a batch plan comes back eq") {
    val plan = optimized("SELECT a.src FROM batch a JOIN batch b ON a.dst = b.src JOIN batch c ON b.dst = c.src")
    assert(rule(RunState.Fresh)(plan) eq plan)
  }

  test("a subquery's root comes back eq") {
    val plan = Subquery(before(l3), correlated = false)
    assert(rule(RunState.NoQuery)(plan) eq plan)
  }

  test("a streaming plan without joins comes back eq") {
    val plan = before("SELECT src + 1 FROM e WHERE dst > 3")
    assert(rule(RunState.Fresh)(plan) eq plan)
  }

  test("a block that is left to Spark comes back eq, with its reason") {
    val plan = before(l2)
    assert(rule(RunState.Fresh)(plan) eq plan)
    assert(reasons(plan).map(_.code) == Seq(Reason.TooFewRelations))
  }

  test("with enabled=false the plan is exactly Spark's, sources without data included") {
    withConf("spark.joinless.enabled" -> "false") {
      val plan = idle(spark.sql(l3).queryExecution.analyzed)
      assert(hide(RunState.Fresh)(plan) eq plan)
      assert(rule(RunState.Fresh)(plan) eq plan)
      assert(optimized(l3).collect { case join: Join => join }.size == 2)
    }
  }

  test("sources without data keep their shape through the optimizer") {
    val analyzed = spark.sql(
      "SELECT a.src, c.dst, 1 AS one FROM e a JOIN (SELECT src + 0 AS src, dst FROM e) b ON a.dst = b.src JOIN e c ON b.dst = c.src WHERE c.dst = 3"
    ).queryExecution.analyzed
    def spec(plan: LogicalPlan) = blocks(optimize(plan)).map(_.shape)
    assert(spec(analyzed).size == 1)
    assert(spec(idle(analyzed)) == spec(analyzed))
    assert(!optimize(idle(analyzed)).exists(_.isInstanceOf[IdleSource]))
  }

  test("a query that Spark keeps is optimized as if we were not there") {
    val plan = idle(spark.sql(l2).queryExecution.analyzed)
    var kept = 0
    assert(hide(RunState.Fresh, _ => false, () => kept += 1)(plan) eq plan)
    assert(kept == 1)
    assert(hide(RunState.Decided(Map.empty, sparkOperators = true))(plan) eq plan)
    val native = withConf("spark.joinless.enabled" -> "false")(optimize(plan))
    assert(optimize(plan).canonicalized == native.canonicalized)
  }

  test("whether sources are hidden is checked where one is idle and nothing is decided, with all of them hidden") {
    val analyzed = spark.sql(l3).queryExecution.analyzed
    assert(hide(RunState.Fresh)(analyzed) eq analyzed)
    var questions = Seq.empty[LogicalPlan]
    val first = hide(RunState.Fresh, plan => { questions = questions :+ plan; true })(idle(analyzed))
    assert(first.collectLeaves().forall(_.isInstanceOf[IdleSource]))
    assert(questions.map(_ eq first) == Seq(true))
    val recorded = RunState.Decided(Map(NodeId(0) -> io.joinless.spark.Specs.threeHops.shape), sparkOperators = false)
    assert(hide(recorded)(idle(analyzed)).collectLeaves().forall(_.isInstanceOf[IdleSource]))
  }

  test("hidden sources are revealed where nothing is rewritten") {
    val plan = optimize(idle(spark.sql(l2).queryExecution.analyzed))
    assert(!plan.exists(_.isInstanceOf[IdleSource]))
    assert(plan.collectLeaves().forall(_.isInstanceOf[LocalRelation]))
  }

  test("the first batch reports its decisions, by node") {
    var decided = Seq.empty[Map[NodeId, BlockShape]]
    rule(RunState.Fresh, blocks => decided = decided :+ blocks)(before(both))
    assert(decided.map(_.keySet) == Seq(Set(NodeId(0))))
    assert(decided.head(NodeId(0)).id == NodeId(0))
  }

  test("recorded blocks are rewritten and no others, whatever the settings say now") {
    val spec = block(l3).shape
    def decided(blocks: Int*) =
      RunState.Decided(blocks.map(NodeId(_)).map(id => id -> spec.copy(id = id)).toMap, sparkOperators = true)
    withConf("spark.joinless.minRelations" -> "2") {
      val onlyFirst = rule(decided(0))(before(both))
      assert(blocks(onlyFirst).map(_.shape.id.block) == Seq(0))
      assert(reasons(onlyFirst).map(_.code) == Seq(Reason.ExistingSparkState))
      val none = before(both)
      assert(rule(decided())(none) eq none)
    }
    withConf("spark.joinless.minRelations" -> "9", "spark.joinless.maxRelations" -> "1") {
      assert(blocks(rule(decided(0, 1))(before(both))).map(_.shape.id.block) == Seq(0, 1))
    }
  }

  test("a recorded join tree is kept") {
    val spec = block(l3).shape
    val other = withConf("spark.joinless.relationSizes" -> "a=1000")(block(l3).shape.tree)
    val plan = withConf("spark.joinless.relationSizes" -> "a=1000") {
      rule(RunState.Decided(Map(NodeId(0) -> spec), sparkOperators = false))(before(l3))
    }
    assert(blocks(plan).map(_.shape.tree) == Seq(spec.tree))
    assert(other.relations == spec.tree.relations)
  }

  test("output attributes keep their ids and become nullable") {
    val plan = before(l3)
    val rewritten = rule(RunState.NoQuery)(plan)
    assert(rewritten.output.map(a => (a.exprId, a.name, a.dataType)) == plan.output.map(a =>
      (a.exprId, a.name, a.dataType)
    ))
    assert(rewritten.output.forall(_.nullable))
  }

  test("leaves that share expression ids are distinguished by scope") {
    // Spark's plan of a self-join whose leaves share one source: equal ids, renamed by projections.
    val plan = before(
      "SELECT p, r FROM (SELECT src AS p, dst AS q FROM e) JOIN (SELECT src AS s, dst AS t FROM e) ON q = s JOIN (SELECT src AS u, dst AS r FROM e) ON t = u"
    )
    val leaf = plan.collectLeaves().head
    assert(
      plan.collectLeaves().forall(_.output == leaf.output),
      "the leaves no longer share their ids: choose another query"
    )
    val found = blocks(rule(RunState.NoQuery)(plan)).head
    val keys =
      found.shape.relations.map(_.keys.map(k => k.attribute -> found.shape.inputs(0).columns.indices(k.ordinal)))
    assert(found.shape.attributes.size == 2, keys)
    assert(found.shape.relations.map(_.keys.size) == Seq(1, 2, 1))
  }

  test("the same plan gives the same spec every time") {
    assert(Seq.fill(3)(block(l3).shape).distinct.size == 1)
  }

  test("relation sizes by alias reach the tree search") {
    val chain =
      "SELECT a.src, d.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src JOIN e d ON c.dst = d.src"
    val trees =
      Seq("", "a=1000,d=1", "d=1000").map(s => withConf("spark.joinless.relationSizes" -> s)(block(chain).shape.tree))
    assert(trees.forall(_.relations == IndexedSeq(0, 1, 2, 3)))
  }
}
