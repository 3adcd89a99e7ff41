package io.joinless.spark.start

import io.joinless.spark.checkpoint.{RecordedBlocks, RunState, StreamContext}
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.explain.ExtendedExplain
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.spec.{BlockShape, GroupFormat, GroupShape, NodeId, SpecComparison}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.streaming.WriteToStream

/** Reports errors of the first batch at `start()` already, so that they are reported even if there
  * is nothing new to read. It changes no plan.
  *
  *   - Confs of ours that do not exist; they can be set at any time before.
  *   - State of ours on a Spark that lacks a member that we need.
  *   - Changes that were not compiled, since the session ignores the rule that does it.
  *   - A query whose join blocks or groups are not those that its checkpoint holds. (The first
  *     batch compares again, with data that only it knows: cells and ids of operators.)
  *   - Under `spark.joinless.mode=force`, a join that would stay with Spark, or whose results would
  *     be dropped as late.
  *
  * (A check rule would lose the SQLSTATE: Spark rebuilds the errors of those without it.)
  */
final class StartCheck(session: SparkSession) extends StartRule {

  override protected def started(write: WriteToStream): WriteToStream = {
    Inspection.conf(session).checkNames()
    SparkCheck.members(session, write.resolvedCheckpointLocation)
    SparkCheck.compiled(write.inputQuery)
    if (Inspection.conf(session).enabled) check(write.inputQuery, write.resolvedCheckpointLocation)
    write
  }

  /** Plans the first batch, where that can refuse the query: if every join must be rewritten, or if
    * the checkpoint's run was decided and it or the query has operators of ours.
    */
  private def check(query: LogicalPlan, checkpoint: String): Unit = {
    val forced = Inspection.conf(session).forced
    val run = StreamContext.stateAt(session, checkpoint)
    val planned = query.collect { case groups: Groups => groups.shape }
    val before = run match {
      case decided: RunState.Decided
          if (decided.blocks.keys ++ decided.groups ++ planned).nonEmpty || query.exists(
            _.isInstanceOf[JoinFreeJoin]
          ) =>
        Some(decided)
      case _ => None
    }
    if (forced || before.isDefined) {
      val nodes = Inspection.optimized(session, query, run).collect { case node => node }
      if (forced) rewritten(query, nodes)
      before.foreach { decided =>
        // while some operators are missing, only the batch knows which of the groups exist
        if (!decided.some) compareGroups(decided.groups, planned, checkpoint)
        compare(decided, nodes.collect { case join: JoinFreeJoin => join.shape }, checkpoint)
      }
    }
  }

  /** Compares groups by position: they are planned, and so numbered, in the order in which they
    * stand in the plan.
    */
  private def compareGroups(before: Seq[GroupShape], now: Seq[GroupShape], checkpoint: String): Unit = {
    def texts(groups: Seq[GroupShape]) = if (groups.isEmpty) "none" else groups.map(_.text).mkString("; ")
    val difference =
      if (before.size == now.size) before.zip(now).flatMap { case (b, n) => GroupFormat.difference(b, n) }.headOption
      else Some(s"It holds these groups: ${texts(before)}. The query has: ${texts(now)}.")
    difference.foreach(what => throw JoinlessErrors.stateMismatch(Mismatch.Query, checkpoint, what))
  }

  /** Refuses a query if one of its joins stays with Spark, or may lose results as late; the first
    * reason counts.
    */
  private def rewritten(query: LogicalPlan, nodes: Seq[LogicalPlan]): Unit =
    ExtendedExplain.reasons(nodes).headOption.foreach { found =>
      val reason = AnalysisHelper.allowInvokingTransformsInAnalyzer(DeltaCompilation.offering(session, query, found))
      val refused =
        if (reason.code == Reason.LateResults) JoinlessErrors.resultsLate _ else JoinlessErrors.notRewritten _
      throw refused(reason.code.name, reason.sentence, reason.advice)
    }

  /** Refuses a query whose blocks are not those that the run has decided: first by which there are,
    * then each by its shape.
    */
  private def compare(decided: RunState.Decided, now: Seq[BlockShape], checkpoint: String): Unit = {
    val before: Map[NodeId, BlockShape] = decided.blocks

    /** Refuses to continue from the checkpoint. */
    def refuse(kind: Mismatch, what: String) = throw JoinlessErrors.stateMismatch(kind, checkpoint, what)
    RecordedBlocks.difference(before, now.map(shape => shape.id -> shape).toMap, decided.some)
      .foreach(refuse(Mismatch.Query, _))
    for {
      shape <- now.sortBy(_.id)
      recorded <- before.get(shape.id)
      (kind, what) <- SpecComparison.difference(recorded, shape)
    } refuse(kind, what)
  }
}
