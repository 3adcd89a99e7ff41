package io.joinless.spark.compile

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors}
import io.joinless.spark.inspect.{Inspection, SqlText}
import io.joinless.spark.plans.Reason
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.SparkMembers

/** A query with what asks for its changes compiled, in the settings of its session. */
object DeltaCompilation {

  /** The plan with its deltas compiled; an error says why that cannot be.
    *
    * @param begun the query's checkpoint holds its blocks; asked only where settings would refuse
    */
  def apply(session: SparkSession, analyzed: LogicalPlan, begun: => Boolean = false): LogicalPlan =
    attempt(session, analyzed, begun).fold(reason => throw refused(reason), identity)

  /** The plan to be looked at: compiled where that can be, else as it is. */
  def shown(session: SparkSession, analyzed: LogicalPlan): LogicalPlan =
    try attempt(session, analyzed).getOrElse(analyzed)
    catch { case _: JoinlessAnalysisException => analyzed }

  def refused(reason: Reason): JoinlessAnalysisException =
    JoinlessErrors.deltasNotRewritten(reason.code.name, reason.sentence, reason.advice)

  /** The plan with its deltas compiled, or why one of them cannot be. A plan without marks is itself. */
  def attempt(session: SparkSession, analyzed: LogicalPlan, begun: => Boolean = false): Either[Reason, LogicalPlan] =
    if (!DeltaCompiler.hasMarks(analyzed)) Right(analyzed)
    else
      SparkMembers.missing match {
        case Some(member) => Left(Reason.unsupportedSpark(member))
        case None => compiler(session, begun)(analyzed)
      }

  /** The columns by which all rows of a query's result differ; none where the query does not say so. */
  def key(session: SparkSession, analyzed: LogicalPlan): Seq[Attribute] =
    compiler(session, begun = false).key(analyzed).getOrElse(Nil)

  private def compiler(session: SparkSession, begun: => Boolean): DeltaCompiler =
    new DeltaCompiler(Inspection.conf(session), new SqlText(session), begun, Inspection.template(session, _))
}
