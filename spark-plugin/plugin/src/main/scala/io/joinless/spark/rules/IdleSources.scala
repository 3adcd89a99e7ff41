package io.joinless.spark.rules

import io.joinless.spark.JoinlessConf
import io.joinless.spark.plans.IdleSource
import org.apache.spark.sql.catalyst.plans.logical.{Join, LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule

/** Hides sources without new data from the optimizer, so that a query has one shape in all its batches.
  *
  * Runs as a plan-normalization rule, which Spark applies to every micro-batch: `IncrementalExecution.optimizedPlan`
  * starts from `withCachedData`, that from `QueryExecution.normalized`. [[RewriteStreamingJoins]] reveals them again
  * before anything depends on statistics; Spark's later rules then fold what is empty.
  *
  * On the way it gives scans of shared sources attributes of their own ([[SeparateScans]]), and notes the aliases of
  * sources, which the optimizer takes away ([[RelationNames]]). Plans that are not streaming or join no streams come back
  * `eq`.
  */
object HideIdleSources extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = if (plan.isStreaming) hidden(SeparateScans(plan)) else plan

  private def hidden(plan: LogicalPlan): LogicalPlan =
    if (JoinlessConf.active.enabled && plan.exists(joinsStreams)) {
      RelationNames.note(plan)
      plan.transform { case LocalRelation(output, Seq(), true, None) => IdleSource(output) }
    } else plan

  private def joinsStreams(plan: LogicalPlan): Boolean = plan match {
    case join: Join => join.left.isStreaming && join.right.isStreaming
    case _ => false
  }
}

object RevealIdleSources {

  /** The plan with Spark's own leaves; `eq` where nothing was hidden. */
  def apply(plan: LogicalPlan): LogicalPlan = plan.transform { case idle: IdleSource => idle.relation }
}
