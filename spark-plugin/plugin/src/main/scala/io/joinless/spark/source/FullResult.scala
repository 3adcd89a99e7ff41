package io.joinless.spark.source

import io.joinless.spark.changes.Changes
import io.joinless.spark.checkpoint.CommittedState
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.{DeltaRows, Groups}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.{DeltaForm, InPlaceOf}
import io.joinless.spark.spec.{GroupFormat, RecordedQuery}
import org.apache.spark.sql.catalyst.expressions.{Alias, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{
  GlobalLimit,
  LocalLimit,
  LogicalPlan,
  Offset,
  Project,
  Sort,
  SubqueryAlias
}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.{DataFrame, SparkSession}

/** The complete result of a streaming query as of a committed batch, given the query itself.
  *
  * The query is compiled as for its changes. Groups of the same rows in the checkpoint are read
  * from their stores. Elsewhere a block must be one that the checkpoint holds, and is replaced by
  * the enumeration of its state. The operators above (projections, conditions, an order, a limit)
  * are kept. The result is a batch DataFrame; nothing is read before an action.
  */
object FullResult {

  /** The complete result of a query, as a batch DataFrame.
    *
    * @param batch the last committed one, if None
    * @param operator number of the join's stateful operator; needed only if the query fits several
    *     joins of the checkpoint
    */
  def apply(df: DataFrame, checkpoint: String, batch: Option[Long], operator: Option[Long] = None): DataFrame = {
    val session = df.sparkSession
    if (!Inspection.hasExtension(session)) throw JoinlessErrors.extensionNotInstalled()
    if (!df.isStreaming) throw JoinlessErrors.notStreaming()
    lazy val state = CommittedState(session, checkpoint, batch)
    Inspection.within(session) {
      Plans.dataFrame(df, new FullResult(session, state, operator).full(Plans.analyzed(df)))
    }
  }
}

/** The complete result of a query from the state of its checkpoint.
  *
  * @param committed the content of the checkpoint; evaluated when the query was compiled
  */
final private class FullResult(session: SparkSession, committed: => CommittedState, operator: Option[Long]) {

  /** The plan of the result. Sorts and limits are applied to the batch result, unless the running
    * query does it.
    */
  def full(plan: LogicalPlan): LogicalPlan = plan match {
    case _: GlobalLimit | _: Offset => kept(plan).fold(above(plan))(enumerated)
    case _: Sort | _: LocalLimit | _: SubqueryAlias | Project(_, _: Sort) => above(plan)
    case query => enumerated(compiled(query).fold(reason => throw DeltaCompilation.refused(reason), identity))
  }

  /** The operator over the complete result of its child. */
  private def above(plan: LogicalPlan): LogicalPlan = plan.withNewChildren(plan.children.map(full))

  /** The query compiled for its changes, as the checkpoint continues it; or why it does not
    * compile.
    */
  private def compiled(query: LogicalPlan): Either[Reason, LogicalPlan] =
    DeltaCompilation.attempt(
      session,
      Changes.marked(query, DeltaForm.Weight),
      Some(RecordedQuery(committed.operators.ours.map(_.spec.shape), committed.operators.groups.map(_.shape)))
    )

  /** The compiled query, if the checkpoint holds its first rows. */
  private def kept(query: LogicalPlan): Option[LogicalPlan] = compiled(query).toOption.filter { plan =>
    plan.collect { case groups: Groups => groups.shape }.forall { shape =>
      committed.operators.groups.exists(before => GroupFormat.difference(before.shape, shape).isEmpty)
    }
  }

  /** The result of a compiled query from the state of the checkpoint, under the query's own
    * columns. It is refused where the checkpoint has groups that close: those that have closed are
    * stored no longer.
    *
    * @param compiled as [[DeltaCompilation]] returns it: [[DeltaRows]] at the top
    */
  private def enumerated(compiled: LogicalPlan): LogicalPlan =
    compiled match {
      case DeltaRows(changes, _, _, output, _) =>
        if (committed.operators.groups.exists(_.shape.isClosing))
          throw JoinlessErrors.groupsForgotten(committed.checkpoint)
        val rows = new CompleteRows(changes, committed, operator).rows
        Project(rows.output.zip(output).map { case (stored, column) => renamed(stored, column) }, rows)
      case other => throw new IllegalStateException(s"not the changes of a query: ${other.nodeName}")
    }

  /** A stored value under the name and id of a column of the query. */
  private def renamed(value: NamedExpression, column: NamedExpression): NamedExpression = {
    InPlaceOf(column, value match { case Alias(child, _) => child; case attribute => attribute })
  }
}
