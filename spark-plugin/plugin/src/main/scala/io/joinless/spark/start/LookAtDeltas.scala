package io.joinless.spark.start

import io.joinless.spark.checkpoint.{RunState, StreamContext}
import io.joinless.spark.compile.{DeltaCompilation, DeltaCompiler}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.{Changelog, DeltaOutput, KeyedRows, MaskedStream, TakenAsRows}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.SQLExecution

/** Handles marks in a plan that no query was started with.
  *
  * `explain()` shows the plan that the query would have, compiled as by its start. A plan that
  * cannot be compiled keeps its marks, which are planned only to be shown
  * ([[io.joinless.spark.exec.MarkExec]]). An action is refused here: Spark describes it, and so
  * plans it, before it finds that it reads a stream. An action differs from an explain by its
  * execution id.
  *
  * A plan-normalization rule, which removes marks that are no longer needed. The batches of a query
  * have no marks any more.
  */
final class LookAtDeltas(session: SparkSession) extends Rule[LogicalPlan] {

  /** What becomes of a plan:
    * {{{
    *                           action                             explain
    * marks                     refused                            compiled as by a start
    * no marks, no stream       refused if a subquery reads one    as it is
    * no marks, a batch         the same                           as it is
    * no marks, a stream        the same, else as on the right     its outer joins are compiled
    * }}}
    */
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!DeltaCompiler.hasMarks(plan)) {
      if (isAction) CompileDeltas.refuseMasked(plan)
      unmasked(if (!plan.isStreaming || isBatch) plan else DeltaCompilation.plain(session, plan, RunState.NoQuery))
    } else if (isAction) throw JoinlessErrors.streamNotStarted(LookAtDeltas.marksOf(plan))
    else unmasked(DeltaCompilation.inspected(session, plan))

  /** The plan without the marks that no later step knows. */
  private def unmasked(plan: LogicalPlan): LogicalPlan =
    AnalysisHelper.allowInvokingTransformsInAnalyzer(TakenAsRows.removed(MaskedStream.removed(plan)))

  /** Whether the plan is a batch of a query, which was compiled when the query started. */
  private def isBatch: Boolean = StreamContext.runState(session) != RunState.NoQuery

  /** Whether the plan is to be executed, and not only explained. */
  private def isAction: Boolean = session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY) != null
}

object LookAtDeltas {

  /** What the marks of a plan request, as text. */
  private def marksOf(plan: LogicalPlan): String = {
    val read = plan.collect { case changelog: Changelog =>
      val what = if (changelog.expiry.isDefined) "rows that expire" else "the changelog"
      s"it reads $what ${changelog.output.map(_.name).mkString("(", ", ", ")")}"
    }.distinct
    val keys = plan.collect { case rows: KeyedRows =>
      s"it reads rows with the key ${rows.key.map(_.name).mkString("(", ", ", ")")}"
    }.distinct
    val requested = Option.when(plan.exists(_.isInstanceOf[DeltaOutput]))("it emits the changes of a result")
    (requested ++ read ++ keys).mkString(", and ")
  }
}
