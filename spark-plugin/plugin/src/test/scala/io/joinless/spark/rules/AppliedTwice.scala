package io.joinless.spark.rules

import io.joinless.spark.{SparkTestMode, TestFolders}
import io.joinless.spark.changes.{Changes, IncrementalHint, ResolveDeltaOutput}
import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.rewrite.RewriteStreamingJoins
import io.joinless.spark.rules.scans.{SeparateScans, SharedSources}
import io.joinless.spark.start.{HideIdleSources, ShareSources, StartCheck, WholeBatches}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.joinless.QueryParts
import org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.{Assertion, Assertions, Suite}

/** Every rule of ours may be applied to its own output: then it changes nothing. */
trait AppliedTwice extends StreamingPlans with Assertions { self: Suite =>

  private val rewrite = new RewriteStreamingJoins(() => JoinlessConf.active, () => RunState.NoQuery, _ => ())
  private val hide = new HideIdleSources(() => RunState.Fresh, _ => true, () => ())

  private val ofQueries: Seq[Rule[LogicalPlan]] = Seq(
    IncrementalHint,
    ResolveDeltaOutput,
    hide,
    rule("SeparateScans")(SeparateScans.apply),
    rule("CompileDeltas")(plan => DeltaCompilation.attempt(spark, plan).getOrElse(plan))
  )

  private def ofStarts: Seq[Rule[LogicalPlan]] =
    Seq(new StartCheck(spark), new ShareSources(spark), new WholeBatches(spark))

  /** Checks all rules on a query: as it is written, with its changes requested, started, and in
    * batches with and without data.
    */
  def unchangedTwice(sql: String): Unit = {
    val analyzed = spark.sql(sql).queryExecution.analyzed
    val requested = Changes.markedUnchecked(analyzed, DeltaForm.ChangeType)
    val shared = SharedSources.shared(analyzed, SharedSources.together(analyzed, _ => true))
    val batches = Seq(analyzed, idle(analyzed), busy(analyzed), busy(shared), idle(shared))
    for (rule <- ofQueries; plan <- batches :+ requested) twice(rule, plan)
    for (rule <- ofStarts) twice(rule, started(analyzed))
    for (plan <- batches) {
      val before = withConf("spark.joinless.enabled" -> "false")(optimize(plan))
      twice(rewrite, before)
      withClue("in Spark's test mode: ")(SparkTestMode.on(twice(rewrite, optimize(plan))))
    }
    DeltaCompilation.attempt(spark, requested).foreach { compiled =>
      SparkTestMode.on(twice(rewrite, optimize(busy(compiled))))
    }
  }

  private def twice(rule: Rule[LogicalPlan], plan: LogicalPlan): Assertion = {
    val once = rule(plan)
    val again = rule(once)
    assert(again.fastEquals(once), s"${rule.ruleName} on\n$once makes\n$again")
  }

  private def started(query: LogicalPlan): WriteToStream = QueryParts.write(
    "query",
    TestFolders.create("cp").toString,
    new ForeachBatchSink[Row]((_: DataFrame, _: Long) => (), null),
    OutputMode.Append,
    query
  )

  private def rule(name: String)(f: LogicalPlan => LogicalPlan): Rule[LogicalPlan] = new Rule[LogicalPlan] {
    override val ruleName: String = name
    override def apply(plan: LogicalPlan): LogicalPlan = f(plan)
  }
}
