package io.joinless.spark.source

import io.joinless.spark.plans.InPlaceOf
import io.joinless.spark.changes.{Changes, SourceNames}
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.{DeltaForm, DeltaRows, Groups, JoinFreeJoin}
import io.joinless.spark.rules.StoredRows
import io.joinless.spark.spec.BlockShape
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
    Plans.dataFrame(df, full(session, Plans.analyzed(df), Snapshot.fitting(session, checkpoint, batch, _, operator)))
  }

  private def full(session: SparkSession, plan: LogicalPlan, fitting: BlockShape => Snapshot): LogicalPlan =
    plan match {
      case _: Sort | _: GlobalLimit | _: LocalLimit | _: SubqueryAlias =>
        plan.withNewChildren(plan.children.map(full(session, _, fitting)))
      case query =>
        DeltaCompilation(session, Changes.marked(query, DeltaForm.Weight), begun = true) match {
          case DeltaRows(changes, _, _, output) =>
            val rows = complete(changes, fitting)
            Project(rows.output.zip(output).map { case (value, column) => renamed(value, column) }, rows)
          case other => throw new IllegalStateException(s"not the changes of a query: ${other.nodeName}")
        }
    }

  /** The rows of which `changes` tells: all of its columns but the weight, the last one. */
  private def complete(changes: LogicalPlan, fitting: BlockShape => Snapshot): LogicalPlan = changes match {
    case Project(list, child) => Project(list.init, complete(child, fitting))
    case Filter(condition, child) => Filter(condition, complete(child, fitting))
    case join: JoinFreeJoin =>
      ResultTable.relation(fitting(join.shape), join.shape, join.residuals, join.output.init, conditions(join))
    case union: Union => union.withNewChildren(union.children.map(complete(_, fitting)))
    case expand: Expand =>
      Expand(expand.projections.map(_.init), expand.output.init, complete(expand.child, fitting))
    case generate: Generate => generate.withNewChildren(Seq(complete(generate.child, fitting)))
    case groups: Groups => grouped(groups, complete(groups.child, fitting))
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
