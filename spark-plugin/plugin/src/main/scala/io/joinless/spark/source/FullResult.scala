package io.joinless.spark.source

import io.joinless.spark.changes.{Changes, SourceNames}
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.{DeltaForm, DeltaRows, Groups, InPlaceOf, JoinFreeJoin, Reason, RowWindows}
import io.joinless.spark.rules.StoredRows
import io.joinless.spark.run.{RunState, StreamContext}
import io.joinless.spark.spec.{BlockShape, GroupFormat, GroupShape}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Count}
import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, Expression, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Expand,
  Filter,
  Generate,
  GlobalLimit,
  LocalLimit,
  LogicalPlan,
  Offset,
  Project,
  Sort,
  SubqueryAlias,
  Union
}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.{DataFrame, SparkSession}

/** The complete result of a streaming query as of a committed batch, given the query itself.
  *
  * The query is compiled as for its changes; its block must be one that the checkpoint holds. In its place comes the
  * enumeration of that block's state, and what the query makes of it (projections, conditions, an order, a limit) stays
  * above. The result is a batch DataFrame; nothing is read before an action.
  */
object FullResult {

  /** @param batch the last committed one, if None
    * @param operator number of the join's stateful operator; needed only where the query fits several joins of the checkpoint
    */
  def apply(df: DataFrame, checkpoint: String, batch: Option[Long], operator: Option[Long] = None): DataFrame = {
    val session = df.sparkSession
    if (!Inspection.hasExtension(session)) throw JoinlessErrors.extensionNotInstalled()
    if (!df.isStreaming) throw JoinlessErrors.notStreaming()
    def recorded = StreamContext.stateAt(session, checkpoint) match {
      case decided: RunState.Decided => decided.groups
      case _ => Nil
    }
    val fitting = Snapshot.fitting(session, checkpoint, batch, _, _, operator)
    Plans.dataFrame(df, new FullResult(session, fitting, recorded).full(Plans.analyzed(df)))
  }
}

/** @param fitting the block's state in the checkpoint
  * @param recorded the groups in the checkpoint; asked only where a query has a LIMIT
  */
final private class FullResult(
    session: SparkSession,
    fitting: (BlockShape, BlockPlace) => Snapshot,
    recorded: => Seq[GroupShape]
) {

  /** What puts the rows in an order, or cuts them, is done to the batch result; unless the running query does it. */
  def full(plan: LogicalPlan): LogicalPlan = plan match {
    case _: GlobalLimit | _: Offset => kept(plan).fold(above(plan))(enumerated)
    case _: Sort | _: LocalLimit | _: SubqueryAlias | Project(_, _: Sort) => above(plan)
    case query => enumerated(compiled(query).fold(reason => throw DeltaCompilation.refused(reason), identity))
  }

  private def above(plan: LogicalPlan): LogicalPlan = plan.withNewChildren(plan.children.map(full))

  private def compiled(query: LogicalPlan): Either[Reason, LogicalPlan] =
    DeltaCompilation.attempt(session, Changes.marked(query, DeltaForm.Weight), begun = true)

  /** The query compiled, where the checkpoint holds its first rows. */
  private def kept(query: LogicalPlan): Option[LogicalPlan] = compiled(query).toOption.filter { plan =>
    val before = recorded
    plan.collect { case groups: Groups => groups.shape }.forall { shape =>
      before.exists(GroupFormat.difference(_, shape).isEmpty)
    }
  }

  private def enumerated(compiled: LogicalPlan): LogicalPlan =
    compiled match {
      case DeltaRows(changes, _, _, output) =>
        val joins = changes.collect { case join: JoinFreeJoin => join }
        val rows = complete(changes)(join => fitting(join.shape, BlockPlace(joins.indexWhere(_ eq join), joins.size)))
        Project(rows.output.zip(output).map { case (value, column) => renamed(value, column) }, rows)
      case other => throw new IllegalStateException(s"not the changes of a query: ${other.nodeName}")
    }

  /** The rows of which `changes` tells: all of its columns but the weight, the last one. */
  private def complete(changes: LogicalPlan)(state: JoinFreeJoin => Snapshot): LogicalPlan = changes match {
    case Project(list, child) => Project(list.init, complete(child)(state))
    case Filter(condition, child) => Filter(condition, complete(child)(state))
    case join: JoinFreeJoin =>
      ResultTable.relation(state(join), join.shape, join.residuals, join.output.init, conditions(join))
    case union: Union => union.withNewChildren(union.children.map(complete(_)(state)))
    case expand: Expand =>
      Expand(expand.projections.map(_.init), expand.output.init, complete(expand.child)(state))
    case generate: Generate => generate.withNewChildren(Seq(complete(generate.child)(state)))
    case RowWindows(child, windows, output) =>
      val weight = child.output.last.exprId
      RowWindows(
        complete(child)(state),
        windows.copy(partition = windows.partition.init),
        output.filter(_.exprId != weight)
      )
    case groups: Groups => grouped(groups, complete(groups.child)(state))
    case other => throw JoinlessErrors.rowsNotStored(SourceNames.of(other))
  }

  /** The groups of all rows, by Spark's own operator. */
  private def grouped(groups: Groups, rows: LogicalPlan): LogicalPlan = {
    val keys = rows.output.take(groups.shape.columns.size)
    val values = groups.functions.map { f =>
      f.function.transform { case BoundReference(i, _, _) => rows.output(i) } match {
        case count: Count => count.copy(children = Seq(f.argument.fold[Expression](Literal(1))(rows.output)))
        case other => other
      }
    }.zip(groups.shape.functions).map { case (f, spec) =>
      f.asInstanceOf[AggregateFunction].toAggregateExpression(isDistinct = spec.isDistinct)
    }
    val selected = (keys ++ values).zip(groups.output).map { case (value, column) =>
      Alias(value, column.name)(exprId = column.exprId)
    }
    Aggregate(keys, selected, rows)
  }

  /** What the query asks of single rows, as far as it can be seen of what is stored. Where rows can be deleted, the query asks what the
    * running one does.
    */
  private def conditions(join: JoinFreeJoin): Seq[RelationFilter] =
    if (join.shape.retractable) Nil
    else for {
      (scan, relation) <- join.scans.zipWithIndex
      columns = join.shape.inputs(join.shape.relations(relation).input).columns
      condition <- StoredRows.conditions(scan, columns.size)
    } yield RelationFilter(relation, condition, condition.sql)

  private def renamed(value: NamedExpression, column: NamedExpression): NamedExpression = {
    InPlaceOf(column, value match { case Alias(child, _) => child; case attribute => attribute })
  }
}
