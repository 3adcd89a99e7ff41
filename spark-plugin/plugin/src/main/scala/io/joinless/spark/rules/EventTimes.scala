package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Filter, LogicalPlan, Project, Union}

/** Which columns of rows are times that close: once the watermark has reached such a time, no row with it comes any more.
  *
  * They begin as columns with a watermark, and are handed on as they are, or as windows of Spark's over them: what Spark marks as an event
  * time, and is made of such columns alone.
  */
private[spark] object EventTimes {

  /** Positions of the columns that are such times.
    *
    * @param closes whether a column below is one
    */
  def in(columns: Seq[NamedExpression], closes: Attribute => Boolean): Set[Int] =
    columns.indices.filter(i => is(columns(i), closes)).toSet

  private def is(column: NamedExpression, closes: Attribute => Boolean): Boolean = column match {
    case a: Attribute => closes(a)
    case Alias(a: Attribute, _) => closes(a)
    case Alias(value, _) => made(column.toAttribute, value, closes)
    case _ => false
  }

  /** Whether a column is one that is `value` over columns below. */
  def made(column: Attribute, value: Expression, closes: Attribute => Boolean): Boolean = value match {
    case a: Attribute => closes(a)
    case WindowOfTime(time, _) => closes(time)
    case _ =>
      val read = OuterScope.attributes(value)
      column.metadata.contains(EventTimeWatermark.delayKey) && read.nonEmpty && read.forall(closes)
  }

  /** The same of a plan of projections, conditions and unions. */
  def of(plan: LogicalPlan, closes: Attribute => Boolean): Set[Int] = plan match {
    case Project(list, child) =>
      val below = of(child, closes)
      in(list, a => below(child.output.indexWhere(_.exprId == a.exprId)))
    case Filter(_, child) => of(child, closes)
    case union: Union => union.children.map(of(_, closes)).reduce(_ intersect _)
    case leaf => leaf.output.indices.filter(i => closes(leaf.output(i))).toSet
  }
}
