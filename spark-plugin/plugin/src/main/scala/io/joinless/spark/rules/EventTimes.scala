package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Filter, LogicalPlan, Project, Union}

/** Which columns of rows are times that close, each with its lag: once the watermark is that much beyond such a time, no row with it comes any
  * more.
  *
  * They begin as columns with a watermark, whose lag is 0, and are handed on as they are, or as windows of Spark's over them: what Spark marks as
  * an event time, and is made of such columns alone. A join that waits for late partners adds to the lag. All watermarks are the query's. Lags
  * are microseconds.
  */
private[spark] object EventTimes {

  /** The columns that are such times, by position.
    *
    * @param lag of a column below, where it is one
    */
  def in(columns: Seq[NamedExpression], lag: Attribute => Option[Long]): Map[Int, Long] =
    (for (i <- columns.indices; time <- ofColumn(columns(i), lag)) yield i -> time).toMap

  private def ofColumn(column: NamedExpression, lag: Attribute => Option[Long]): Option[Long] = column match {
    case a: Attribute => lag(a)
    case Alias(a: Attribute, _) => lag(a)
    case Alias(value, _) => made(column.toAttribute, value, lag)
    case _ => None
  }

  /** The same of columns that are `values` over columns below. */
  def made(columns: Seq[Attribute], values: Seq[Expression], lag: Attribute => Option[Long]): Map[Int, Long] =
    (for (i <- columns.indices; time <- made(columns(i), values(i), lag)) yield i -> time).toMap

  private def made(column: Attribute, value: Expression, lag: Attribute => Option[Long]): Option[Long] = value match {
    case a: Attribute => lag(a)
    case WindowOfTime(time, _) => lag(time)
    case _ =>
      val lags = OuterScope.attributes(value).map(lag)
      if (column.metadata.contains(EventTimeWatermark.delayKey) && lags.forall(_.isDefined)) lags.flatten.maxOption
      else None
  }

  /** The same of a plan of projections, conditions and unions. */
  def of(plan: LogicalPlan, lag: Attribute => Option[Long]): Map[Int, Long] = plan match {
    case Project(list, child) =>
      val below = of(child, lag)
      in(list, a => below.get(child.output.indexWhere(_.exprId == a.exprId)))
    case Filter(_, child) => of(child, lag)
    case union: Union => ofAll(union.children.map(of(_, lag)))
    case leaf => in(leaf.output, lag)
  }

  /** Of rows of several sorts. */
  def ofAll(sorts: Seq[Map[Int, Long]]): Map[Int, Long] = sorts.reduce { (a, b) =>
    for ((i, lag) <- a; other <- b.get(i)) yield i -> math.max(lag, other)
  }
}
