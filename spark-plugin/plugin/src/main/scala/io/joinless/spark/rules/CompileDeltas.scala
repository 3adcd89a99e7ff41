package io.joinless.spark.rules

import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.joinless.{Inspection, SparkMembers, SqlText}
import org.apache.spark.sql.streaming.OutputMode

/** Compiles what asks for changes of a result when a query starts, once ([[DeltaCompiler]]).
  *
  * A hint-resolution rule: it sees the write to a stream before Spark checks which operators can stream, at every start and
  * restart. What cannot be compiled is an error here; so is a changelog whose deletes nobody would understand.
  */
final class CompileDeltas(session: SparkSession) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteToStreamStatement if DeltaCompiler.concerns(write.inputQuery) =>
      if (write.outputMode == OutputMode.Complete)
        throw CompileDeltas.refused(Reason.of(Reason.UnsupportedOutputMode, "mode" -> "complete"))
      AnalysisHelper.allowInvokingTransformsInAnalyzer {
        write.withNewChildren(Seq(CompileDeltas.compiled(session, write.inputQuery)))
      }
    case _ => plan
  }
}

object CompileDeltas {

  /** The plan with its deltas compiled; an error says why that cannot be. */
  def compiled(session: SparkSession, analyzed: LogicalPlan): LogicalPlan =
    attempt(session, analyzed).fold(reason => throw refused(reason), identity)

  /** The plan to be looked at: compiled where that can be, else as it is. */
  def shown(session: SparkSession, analyzed: LogicalPlan): LogicalPlan =
    try attempt(session, analyzed).getOrElse(analyzed)
    catch { case _: JoinlessAnalysisException => analyzed }

  private def refused(reason: Reason): JoinlessAnalysisException =
    JoinlessErrors.deltasNotRewritten(reason.code.name, reason.sentence, reason.advice)

  /** The plan with its deltas compiled, or why one of them cannot be. A plan without marks is itself. */
  def attempt(session: SparkSession, analyzed: LogicalPlan): Either[Reason, LogicalPlan] =
    if (!DeltaCompiler.concerns(analyzed)) Right(analyzed)
    else
      SparkMembers.missing match {
        case Some(member) => Left(Reason.unsupportedSpark(member))
        case None =>
          new DeltaCompiler(Inspection.conf(session), new SqlText(session), Inspection.template(session, _))(analyzed)
      }
}
