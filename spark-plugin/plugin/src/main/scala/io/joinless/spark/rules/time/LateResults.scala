package io.joinless.spark.rules.time

import io.joinless.spark.plans.nodes.{DeltaRows, JoinFreeJoin}
import io.joinless.spark.plans.reasons.{Reason, UnboundedTime}
import io.joinless.spark.rules.blocks.{Conditions, OuterScope}
import org.apache.spark.sql.catalyst.expressions.{Attribute, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._

/** Notes on blocks whose results an operator above may treat as late, and drop: a note says so
  * before the first result is lost.
  * {{{
  * SELECT window(a.ts, '1 hour') AS w, COUNT(*)
  * FROM a JOIN b ON a.k = b.k JOIN c ON a.k = c.k GROUP BY w
  * }}}
  * A row of `b` that joins a row of `a` two hours later makes a result of a window that is already
  * closed. Where a condition bounds both times, the block reports how far its results lag behind
  * ([[Lifetimes.lag]]), and the operators above wait for them. Where none does, the block names the
  * columns ([[UnboundedTime]]); this object finds operators that drop rows by a column computed
  * from one of them.
  *
  * Rows that pass such an operator are no longer late, so only the lowest one above a block counts.
  * A watermark that is set above the block is the user's statement of how late its rows are.
  */
private[rules] object LateResults {

  /** The plan with these notes at its blocks. */
  def noted(plan: LogicalPlan): LogicalPlan = {
    val found = for {
      operator <- plan.collect { case node if node.isStreaming => node }
      (child, time) <- droppedBy(operator)
      (join, unbounded) <- sources(child, time)
      if !(operator.isInstanceOf[JoinFreeJoin] && join.deltas) // a query knows its own rows
    } yield join -> reason(operator, unbounded)
    if (found.isEmpty) plan
    else plan.transform { case join: JoinFreeJoin =>
      val notes = found.collect { case (block, note) if block eq join => note }.distinct
      if (notes.isEmpty || notes == join.notes) join else join.copy(notes = notes)
    }
  }

  /** The columns of its children by which an operator drops rows that the watermark has passed. */
  private def droppedBy(operator: LogicalPlan): Seq[(LogicalPlan, Attribute)] = operator match {
    case Aggregate(keys, _, child, _) =>
      keys.collect { case key: Attribute if Conditions.isEventTime(key) => child -> key }
    case _: Deduplicate | _: DeduplicateWithinWatermark | _: JoinFreeJoin => times(operator)
    case join: Join if Conditions.joinsStreams(join) => times(join)
    case state: FlatMapGroupsWithState if state.timeout == EventTimeTimeout => times(state)
    case state: FlatMapGroupsInPandasWithState if state.timeout == EventTimeTimeout => times(state)
    case state: TransformWithState if state.timeMode == EventTime => times(state)
    case state: TransformWithStateInPySpark if state.timeMode == EventTime => times(state)
    case _ => Nil
  }

  /** The event times among the columns of an operator's children. */
  private def times(operator: LogicalPlan): Seq[(LogicalPlan, Attribute)] =
    for (child <- operator.children; time <- child.output if Conditions.isEventTime(time)) yield child -> time

  /** The blocks below from whose unbounded times a column is computed. None below an operator that
    * drops late rows itself, as they are noted for that one, and none below a watermark that is set
    * above the block.
    */
  private def sources(plan: LogicalPlan, column: Attribute): Seq[(JoinFreeJoin, UnboundedTime)] = plan match {
    case join: JoinFreeJoin => unboundedAt(join.output, column, join.unbounded).map(join -> _)
    case rows: DeltaRows =>
      val topmost = rows.collectFirst { case join: JoinFreeJoin => join }
      for (join <- topmost.toSeq; time <- unboundedAt(rows.output, column, rows.unbounded)) yield join -> time
    case Project(list, child) =>
      list.filter(_.exprId == column.exprId).flatMap(OuterScope.attributes).flatMap(sources(child, _))
    case union: Union =>
      val i = union.output.indexWhere(_.exprId == column.exprId)
      union.children.flatMap(child => child.output.lift(i).toSeq.flatMap(sources(child, _)))
    case _: EventTimeWatermark => Nil
    case _: Aggregate | _: Deduplicate | _: DeduplicateWithinWatermark => Nil
    case join: Join if Conditions.joinsStreams(join) => Nil
    case other => other.children.filter(_.outputSet.contains(column)).flatMap(sources(_, column))
  }

  /** Those of the unbounded times that are this column of an operator's output. */
  private def unboundedAt(
      output: Seq[NamedExpression],
      column: Attribute,
      times: Seq[UnboundedTime]
  ): Seq[UnboundedTime] =
    times.filter(time => output(time.column).exprId == column.exprId)

  /** The note that an operator drops results by such a time. */
  private def reason(operator: LogicalPlan, unbounded: UnboundedTime): Reason = {
    val matches = unbounded.matches
    Reason.of(
      Reason.LateResults,
      "time" -> s"${matches.relation}.${matches.time}",
      "by" -> matches.by,
      "relation" -> matches.relation,
      "operator" -> nameForUsers(operator),
      "advice" -> matches.advice
    )
  }

  /** What a user calls an operator, to begin a sentence with. An aggregate without functions is a
    * DISTINCT.
    */
  private def nameForUsers(operator: LogicalPlan): String = operator match {
    case Aggregate(_, results, _, _) => if (results.forall(_.isInstanceOf[Attribute])) "DISTINCT" else "GROUP BY"
    case _: Deduplicate => "dropDuplicates"
    case _: DeduplicateWithinWatermark => "dropDuplicatesWithinWatermark"
    case join: Join => s"A join of type ${join.joinType.sql}"
    case _: JoinFreeJoin => "Another join"
    case other => other.nodeName
  }
}
