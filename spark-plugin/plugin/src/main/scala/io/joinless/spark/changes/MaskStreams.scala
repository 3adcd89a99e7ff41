package io.joinless.spark.changes

import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.marks.{Changelog, DeltaOutput, KeyedRows, MaskedStream}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.expressions.{FunctionTableSubqueryArgumentExpression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, EventTimeWatermark, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION

/** Masks the streams inside the subqueries of a streaming query, before Spark checks the analyzed
  * plan.
  *
  * A post-hoc resolution rule. Spark refuses a stream in a subquery in `spark.sql()` already,
  * before it is known whether the changes of the result will be requested. Streams are masked, not
  * subqueries, since Spark checks the topmost node of a subquery. If changes are not requested, the
  * start of the query is refused.
  */
final class MaskStreams(session: SparkSession) extends Rule[LogicalPlan] {

  /** Masks the subqueries of a streaming query; a subquery that is analyzed on its own stays, as it
    * is reached from its query.
    */
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.isStreaming || AnalysisContext.get.outerPlan.isDefined || !Inspection.conf(session).enabled) plan
    else AnalysisHelper.allowInvokingTransformsInAnalyzer(inSubqueries(plan))

  /** The plan with all streams in its subqueries masked, also in subqueries of these. The argument
    * of a table function is no subquery.
    */
  private def inSubqueries(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithPruning(_.containsPattern(PLAN_EXPRESSION)) {
      case argument: FunctionTableSubqueryArgumentExpression => argument
      case subquery: SubqueryExpression =>
        val plan = inSubqueries(masked(subquery.plan))
        if (plan.fastEquals(subquery.plan)) subquery else subquery.withNewPlan(plan)
    }

  /** The plan of a subquery with each stream in it masked, together with the marks and watermarks
    * on it.
    */
  private def masked(plan: LogicalPlan): LogicalPlan = plan match {
    case masked: MaskedStream => masked
    case _: Changelog | _: EventTimeWatermark | _: DeltaOutput | _: KeyedRows if plan.isStreaming => MaskedStream(plan)
    case leaf if leaf.children.isEmpty => if (leaf.isStreaming) MaskedStream(leaf) else leaf
    case other => other.mapChildren(masked)
  }
}
