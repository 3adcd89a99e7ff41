package io.joinless.spark.rules.time

import io.joinless.spark.rules.blocks.OuterScope
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Filter, LogicalPlan, Project, Union}

/** The columns of rows that are closing times, each with its lag: once the watermark is that far
  * beyond such a time, no row with it can be inserted any more.
  *
  * Closing times begin as columns with a watermark, whose lag is 0, and are passed on unchanged, or
  * as Spark's windows over them: columns that Spark marks as an event time, and that are computed
  * from such columns alone. A join that waits for late matches adds to the lag. All watermarks are
  * the query's. Lags are microseconds.
  */
private[spark] object EventTimes {

  /** The columns that are closing times, by position.
    *
    * @param lag of a column below, where it is a closing time
    */
  def in(columns: Seq[NamedExpression], lag: Attribute => Option[Long]): Map[Int, Long] =
    (for (i <- columns.indices; time <- ofColumn(columns(i), lag)) yield i -> time).toMap

  /** The lag of a column of a select list, if it is a closing time. */
  private def ofColumn(column: NamedExpression, lag: Attribute => Option[Long]): Option[Long] = column match {
    case a: Attribute => lag(a)
    case Alias(a: Attribute, _) => lag(a)
    case Alias(value, _) => made(column.toAttribute, value, lag)
    case _ => None
  }

  /** The same for columns that are `values` over columns below. */
  def made(columns: Seq[Attribute], values: Seq[Expression], lag: Attribute => Option[Long]): Map[Int, Long] =
    (for (i <- columns.indices; time <- made(columns(i), values(i), lag)) yield i -> time).toMap

  /** The lag of a column that is computed below: of a time itself, or of a window of it; of another
    * expression over closing times alone, if the column is an event time, the largest of theirs.
    */
  private def made(column: Attribute, value: Expression, lag: Attribute => Option[Long]): Option[Long] = value match {
    case a: Attribute => lag(a)
    case WindowOfTime(time, _) => lag(time)
    case _ =>
      val lags = OuterScope.attributes(value).map(lag)
      if (column.metadata.contains(EventTimeWatermark.delayKey) && lags.forall(_.isDefined)) lags.flatten.maxOption
      else None
  }

  /** The columns of a plan of projections, conditions and unions that are closing times, by
    * position.
    */
  def of(plan: LogicalPlan, lag: Attribute => Option[Long]): Map[Int, Long] = plan match {
    case Project(list, child) =>
      val ofChild = of(child, lag)
      in(list, a => ofChild.get(child.output.indexWhere(_.exprId == a.exprId)))
    case Filter(_, child) => of(child, lag)
    case union: Union => ofAll(union.children.map(of(_, lag)))
    case leaf => in(leaf.output, lag)
  }

  /** The same for rows of several kinds. */
  def ofAll(kinds: Seq[Map[Int, Long]]): Map[Int, Long] = kinds.reduce { (a, b) =>
    for ((i, lag) <- a; other <- b.get(i)) yield i -> math.max(lag, other)
  }
}
