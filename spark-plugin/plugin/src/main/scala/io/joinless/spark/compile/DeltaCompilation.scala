package io.joinless.spark.compile

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors}
import io.joinless.spark.inspect.{Inspection, SqlText}
import io.joinless.spark.plans.Reason
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.SparkMembers

/** A query with what asks for its changes compiled, in the settings of its session. */
object DeltaCompilation {

  /** The plan with its deltas compiled; an error says why that cannot be.
    *
    * @param recorded the blocks that the query's checkpoint holds; asked only where settings would refuse, or decide
    */
  def apply(session: SparkSession, analyzed: LogicalPlan, recorded: => Option[Seq[BlockShape]] = None): LogicalPlan =
    attempt(session, analyzed, recorded).fold(reason => throw refused(reason), identity)

  /** The plan to be looked at: compiled where that can be, else as it is. */
  def shown(session: SparkSession, analyzed: LogicalPlan): LogicalPlan =
    try attempt(session, analyzed).getOrElse(analyzed)
    catch { case _: JoinlessAnalysisException => analyzed }

  def refused(reason: Reason): JoinlessAnalysisException =
    JoinlessErrors.deltasNotRewritten(reason.code.name, reason.sentence, reason.advice)

  /** The plan with its deltas compiled, or why one of them cannot be. A plan without marks is itself. */
  def attempt(
      session: SparkSession,
      analyzed: LogicalPlan,
      recorded: => Option[Seq[BlockShape]] = None
  ): Either[Reason, LogicalPlan] =
    if (!DeltaCompiler.hasMarks(analyzed)) Right(analyzed)
    else
      SparkMembers.missing match {
        case Some(member) => Left(Reason.unsupportedSpark(member))
        case None => compiler(session, recorded)(analyzed)
      }

  /** The columns by which all rows of a query's result differ; none where the query does not say so. */
  def key(session: SparkSession, analyzed: LogicalPlan): Seq[Attribute] =
    compiler(session, None).key(analyzed).getOrElse(Nil)

  private def compiler(session: SparkSession, recorded: => Option[Seq[BlockShape]]): DeltaCompiler =
    new DeltaCompiler(Inspection.conf(session), new SqlText(session), recorded, Inspection.template(session, _))
}
