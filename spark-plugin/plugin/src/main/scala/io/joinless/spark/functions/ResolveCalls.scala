package io.joinless.spark.functions

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.{UnresolvedCall, UnresolvedSample}
import io.joinless.spark.plans.nodes.CommittedTable
import io.joinless.spark.source.ResultsOnDemand
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, CTERelationRef, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Computes calls of table functions, once the columns of their relations are resolved. A sample of
  * a complete result is drawn now; one of a stream is kept.
  */
final class ResolveCalls(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call: UnresolvedCall if call.children.forall(_.resolved) =>
      Plans.analyzed(call.made(session, call.children.map(relation(call.function, _))))
    case UnresolvedSample(result, size, seed, by, replacement) if result.resolved && isComplete(result) =>
      if (by.nonEmpty)
        throw JoinlessErrors.sampleArguments(s"a complete result, which has no groups: ${by.mkString(", ")}")
      Plans.analyzed(ResultsOnDemand.sample(relation("sample", result), size, seed, replacement))
  }

  /** A relation that stands for itself: the functions compile and run it. */
  private def relation(function: String, plan: LogicalPlan): DataFrame = {
    val defined = plan.collectWithSubqueries { case definition: CTERelationDef => definition.id }.toSet
    plan.collectWithSubqueries { case reference: CTERelationRef => reference }
      .find(reference => !defined(reference.cteId))
      .foreach(_ => throw JoinlessErrors.outerWith(function))
    Plans.dataFrame(session, plan)
  }

  private def isComplete(plan: LogicalPlan): Boolean = plan.collectLeaves().exists(CommittedTable.isReadBy)
}
