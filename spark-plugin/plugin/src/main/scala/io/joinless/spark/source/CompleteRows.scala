package io.joinless.spark.source

import io.joinless.spark.changes.SourceNames
import io.joinless.spark.checkpoint.{CommittedState, RecordedGroups}
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin, RowWindows}
import io.joinless.spark.plans.values.GroupFunction
import io.joinless.spark.rules.counts.{FunctionOfIncrements, SummedColumns}
import io.joinless.spark.rules.meaning.StoredRows
import io.joinless.spark.spec.{BlockShape, GroupFormat}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateFunction, Count}
import org.apache.spark.sql.catalyst.expressions.{Alias, BoundReference, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Expand, Filter, Generate, LogicalPlan, Project, Union}

/** The complete result of a compiled query, from the state of one committed batch. It is the plan
  * of the query's changes without weights, in which reads of the state replace the stateful
  * operators. Nothing below such a read is needed.
  *
  * @param operator number of the join's stateful operator; needed only if the query fits several
  *   joins of the checkpoint
  */
final private class CompleteRows(changes: LogicalPlan, state: CommittedState, operator: Option[Long]) {
  private val joins = changes.collect { case join: JoinFreeJoin => join }
  private val all = changes.collect { case groups: Groups => groups }

  /** The plan of the complete rows. */
  def rows: LogicalPlan = complete(changes)

  /** A plan of changes as one of rows: each node without the weight, its last column. */
  private def complete(changes: LogicalPlan): LogicalPlan = changes match {
    case Project(list, child) => Project(list.init, complete(child))
    case Filter(condition, child) => Filter(condition, complete(child))
    case join: JoinFreeJoin if join.shape.sample.isDefined => SampleTable.relation(snapshot(join), join)
    case join: JoinFreeJoin =>
      RecordedResult.relation(snapshot(join), join.shape, join.residuals, join.output.init, conditions(join))
    case union: Union => union.withNewChildren(union.children.map(complete))
    case expand: Expand =>
      Expand(expand.projections.map(_.init), expand.output.init, complete(expand.child))
    case generate: Generate => generate.withNewChildren(Seq(complete(generate.child)))
    case RowWindows(child, windows, output) =>
      val weight = child.output.last.exprId
      RowWindows(
        complete(child),
        windows.copy(partition = windows.partition.init),
        output.filter(_.exprId != weight)
      )
    case groups: Groups => stored(groups).fold(counted(groups).getOrElse(grouped(groups)))(
        GroupsTable.relation(state, _, groups)
      )
    case other => throw JoinlessErrors.rowsNotStored(SourceNames.of(other))
  }

  /** The recorded block that this block of the query continues. Refused where no block fits, where
    * the stored columns do not decide a further condition of the query (`checkFilters`), or where
    * rows of its results were forgotten.
    */
  private def snapshot(join: JoinFreeJoin): Snapshot = {
    val place = BlockPlace(joins.indexWhere(_ eq join), joins.size)
    val snapshot = Snapshot.fitting(state, join.shape, place, operator)
    checkFilters(snapshot.spec.shape, join)
    snapshot.ifComplete
  }

  /** The groups of counted results, by Spark's own operator over the sums of the results; None if a
    * function needs each result.
    */
  private def counted(groups: Groups): Option[LogicalPlan] = {

    /** The plan below groups as one of increments; None if there is anything but projections and
      * conditions above counted results.
      */
    def increments(changes: LogicalPlan): Option[LogicalPlan] = changes match {
      case Project(list, child) => increments(child).map(Project(list, _))
      case Filter(condition, child) => increments(child).map(Filter(condition, _))
      case join: JoinFreeJoin if join.shape.reduction.isDefined =>
        Some(IncrementsTable.relation(snapshot(join), join, conditions(join)))
      case _ => None
    }
    val takes = groups.functions.zip(groups.shape.functions).forall { case (f, spec) =>
      FunctionOfIncrements.takes(f.function) || spec.isDistinct
    }
    if (!takes) None
    else increments(groups.child).map { rows =>
      aggregate(groups, rows) { f =>
        val summed = f.sum.map { parts =>
          SummedColumns(parts, rows.output.slice(f.argument.get, f.argument.get + parts.map(_.columns).sum))
        }
        FunctionOfIncrements(f.function, f.argument.map(rows.output), summed, rows.output.last)
      }
    }
  }

  /** The groups of the same rows in the checkpoint. */
  private def stored(groups: Groups): Option[RecordedGroups] = {
    val recorded = state.operators.groups
    val same = recorded.filter { before =>
      before.shape.origin.zip(groups.shape.origin).exists { case (was, is) => was.sameRows(is) } &&
      GroupFormat.holdsSame(before.shape, groups.shape)
    }
    val atPlace = recorded.lift(all.indexWhere(_ eq groups)).filter(recorded.size == all.size && same.contains(_))
    atPlace.orElse(Option.when(same.size == 1)(same.head))
  }

  /** The groups of all rows, by Spark's own operator.
    *
    * @throws JoinlessAnalysisException the groups add up results, so that there are no rows of the
    *   join to group
    */
  private def grouped(groups: Groups): LogicalPlan = {
    if (groups.functions.exists(_.sum.isDefined)) throw JoinlessErrors.stateMismatch(
      Mismatch.Query,
      state.checkpoint,
      s"It adds up the results of its join for other groups, and does not store these: ${groups.shape.text}."
    )
    aggregate(groups, complete(groups.child))(_ => None)
  }

  /** The groups as an aggregation of Spark's.
    *
    * @param rows of the groups' input, without the weight
    * @param increments the form of a function over rows that stand for several results; None if it
    *     is the same
    */
  private def aggregate(
      groups: Groups,
      rows: LogicalPlan
  )(increments: GroupFunction => Option[Expression]): Aggregate = {
    val keys = rows.output.take(groups.shape.columns.size)
    val values = groups.functions.zip(groups.shape.functions).map { case (f, spec) =>
      def ofRows = f.function.transform { case BoundReference(i, _, _) => rows.output(i) } match {
        case count: Count => count.copy(children = Seq(f.argument.fold[Expression](Literal(1))(rows.output)))
        case other => other
      }
      Option.unless(spec.isDistinct)(f).flatMap(increments).getOrElse(
        ofRows.asInstanceOf[AggregateFunction].toAggregateExpression(isDistinct = spec.isDistinct)
      )
    }
    val selected = (keys ++ values).zip(groups.output).map { case (value, column) =>
      Alias(value, column.name)(exprId = column.exprId)
    }
    Aggregate(keys, selected, rows)
  }

  /** Refuses a query with further conditions on rows, if the stored columns do not decide these
    * conditions. If rows can be deleted, stored rows are not filtered again (see `conditions`), so
    * every further condition is refused.
    */
  private def checkFilters(recorded: BlockShape, join: JoinFreeJoin): Unit =
    for {
      (before, now) <- recorded.origins.zip(join.shape.origins) // each by relation
      relation <- before.indices
    } {
      val undecided =
        if (join.shape.rowsLeave) now(relation).filters
        else StoredRows.undecided(join.scans(relation), columns(join, relation))
      val added = undecided.diff(before(relation).filters)
      if (added.nonEmpty) throw JoinlessErrors.stateMismatch(
        Mismatch.Filter,
        state.checkpoint,
        s"The query reads the rows of ${join.shape.relations(relation).name} where ${added.mkString(" and ")}; what is stored does " +
          "not say which these are."
      )
    }

  /** The number of stored columns of a relation. */
  private def columns(join: JoinFreeJoin, relation: Int): Int =
    join.shape.inputs(join.shape.relations(relation).input).columns.size

  /** The conditions by which stored rows are filtered again: those of the query on single rows, as
    * far as the stored columns decide them. None if rows can be deleted: the running query has
    * stored only rows that pass, and `checkFilters` refuses any condition that it does not have.
    */
  private def conditions(join: JoinFreeJoin): Seq[RelationFilter] =
    if (join.shape.rowsLeave) Nil
    else for {
      (scan, relation) <- join.scans.zipWithIndex
      condition <- StoredRows.conditions(scan, columns(join, relation))
    } yield RelationFilter(relation, condition, condition.sql)
}
