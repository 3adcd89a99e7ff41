package io.joinless.spark.start

import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.plans.nodes.{IdleSource, JoinFreeJoin}
import io.joinless.spark.rules.blocks.RelationNames
import io.joinless.spark.rules.scans.SeparateScans
import org.apache.spark.sql.catalyst.plans.logical.{Join, LocalRelation, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule

/** Hides sources without new data from the optimizer, so that a query with rewritten joins has one
  * shape in all its batches. A query that stays with Spark is optimized as without Joinless.
  *
  * Runs as a plan-normalization rule, which Spark applies to every micro-batch:
  * `IncrementalExecution.optimizedPlan` starts from `withCachedData`, that from
  * `QueryExecution.normalized`. [[io.joinless.spark.rules.rewrite.RewriteStreamingJoins]] reveals
  * the sources again before anything depends on statistics; Spark's later rules then fold empty
  * relations.
  *
  * The joins to rewrite were decided before; or else this is the first batch of a query that has an
  * idle source, and an optimized copy decides: the plan with its idle sources hidden, which is the
  * shape in which all other decisions would be made. If no join of it is rewritten, that holds for
  * the run (`keepAll`), whatever shape Spark makes of the batch.
  *
  * In addition it gives scans of shared sources attributes of their own ([[SeparateScans]]), and
  * notes the aliases of sources, which the optimizer removes ([[RelationNames]]). Plans that are
  * not streaming, join no streams, or are not ours are returned `eq`.
  *
  * @param state the decisions for the run
  * @param rewrites whether a block of a normalized plan would be rewritten
  * @param keepAll records that no block of the run is ours
  * @param lacking names the member that the running Spark lacks: then nothing is ours
  */
final class HideIdleSources(
    state: () => RunState,
    rewrites: LogicalPlan => Boolean,
    keepAll: () => Unit,
    lacking: () => Option[String] = () => None
) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (plan.isStreaming) hidden(SeparateScans(plan)) else plan

  /** The plan with its idle sources hidden if the query is ours, else the plan itself. */
  private def hidden(plan: LogicalPlan): LogicalPlan =
    if (JoinlessConf.active.enabled && lacking().isEmpty && plan.exists(joinsStreams)) {
      RelationNames.note(plan)
      val opaque = plan.transform { case LocalRelation(output, Seq(), true, None) => IdleSource(output) }
      if ((opaque eq plan) || isOurs(opaque)) opaque else plan
    } else plan

  /** Whether a join of the query is rewritten: as the run has decided, or else as `opaque`, the
    * plan with its idle sources hidden, decides now. If none is, that is recorded for the run.
    */
  private def isOurs(opaque: LogicalPlan): Boolean = state() match {
    case decided: RunState.Decided => decided.blocks.nonEmpty
    case RunState.Fresh | RunState.NoQuery =>
      val ours = opaque.exists(_.isInstanceOf[JoinFreeJoin]) || rewrites(opaque)
      if (!ours) keepAll()
      ours
  }

  /** Whether it is a join of streams. */
  private def joinsStreams(plan: LogicalPlan): Boolean = plan match {
    case join: Join => join.left.isStreaming && join.right.isStreaming
    case _ => false
  }
}
