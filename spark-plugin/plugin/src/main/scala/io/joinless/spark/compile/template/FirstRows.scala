package io.joinless.spark.compile.template

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._

/** In a template: the rows of `child` in an order, without the first `skip` of them, and at most
  * `most` of the others. It stands for LIMIT, OFFSET and ORDER BY, which Spark's optimizer must not
  * see: it moves a projection below a LIMIT, and makes a join of the subquery in it, below which it
  * removes the order as redundant (seen on 4.2.0, where batch SQL returns other rows than the first
  * ones).
  */
final private[compile] case class FirstRows(
    order: Seq[SortOrder],
    skip: Long,
    most: Option[Long],
    child: LogicalPlan
) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  /** All rows are returned; only their order matters. */
  def isAll: Boolean = skip == 0 && most.isEmpty

  override protected def withNewChildInternal(newChild: LogicalPlan): FirstRows = copy(child = newChild)
}

private[compile] object FirstRows {

  /** The plan with these nodes, without orders that do not affect which rows are returned.
    * Correlated subqueries are unchanged, as Spark must recognize them.
    */
  def in(plan: LogicalPlan): LogicalPlan = in(plan, ordered = false)

  /** An order stays where it decides which rows a LIMIT or OFFSET returns, and below a window that
    * has none of its own; then it is a node without them.
    *
    * @param ordered the operators above rely on the order
    */
  private def in(plan: LogicalPlan, ordered: Boolean): LogicalPlan = plan match {
    case static if !static.isStreaming => static
    case _: GlobalLimit | _: LocalLimit | _: Offset =>
      val cut = cutOf(plan)
      val first = FirstRows(cut.order, cut.skip, cut.most, in(cut.rows))
      inSubqueries(cut.lists.foldRight(if (first.isAll) first.child else first)(Project(_, _)))
    case Sort(order, true, child, _) if ordered => FirstRows(order, 0L, None, in(child))
    case Sort(_, _, child, _) => in(child)
    case window: Window => inSubqueries(window.mapChildren(in(_, ordered = window.orderSpec.isEmpty)))
    case _: Project | _: Filter | _: SubqueryAlias | _: View => inSubqueries(plan.mapChildren(in(_, ordered)))
    case other => inSubqueries(other.mapChildren(c => in(c)))
  }

  /** The node with the orders and limits in its uncorrelated subqueries replaced. */
  private def inSubqueries(plan: LogicalPlan): LogicalPlan = plan.transformExpressions {
    case s: SubqueryExpression if !s.isCorrelated && !s.isInstanceOf[LateralSubquery] => s.withNewPlan(in(s.plan))
  }

  /** The rows that a plan returns: `rows` in the order, without the first `skip`, and of the others
    * at most `most`. An operator above counts in these: OFFSET adds to `skip` what it takes from
    * `most`.
    *
    * @param rows below all limits, offsets and orders
    * @param lists the projections above them, from the last one on
    */
  final private case class Cut(
      rows: LogicalPlan,
      order: Seq[SortOrder] = Nil,
      skip: Long = 0L,
      most: Option[Long] = None,
      lists: List[Seq[NamedExpression]] = Nil
  )

  /** Reads a plan from its top down to the rows, and applies each operator to what is below it.
    * Limits, offsets and projections can stand in any sequence above the rows, or above their
    * order. Spark uses local limits where they do not decide which rows are returned.
    */
  private def cutOf(plan: LogicalPlan): Cut = plan match {
    case GlobalLimit(Number(n), child) =>
      val ofChild = cutOf(child)
      ofChild.copy(most = Some(ofChild.most.fold(n)(_.min(n))))
    case LocalLimit(_, child) => cutOf(child)
    case Offset(Number(n), child) =>
      val ofChild = cutOf(child)
      ofChild.copy(skip = ofChild.skip + n, most = ofChild.most.map(m => (m - n).max(0L)))
    case Project(list, child) if isOrdered(child) =>
      val ofChild = cutOf(child)
      ofChild.copy(lists = list :: ofChild.lists)
    case SubqueryAlias(_, child) if isOrdered(child) => cutOf(child)
    case Sort(order, true, child, _) => Cut(child, order)
    case rows => Cut(rows)
  }

  /** Spark has checked that it is a constant of INT. */
  private object Number {
    def unapply(e: Expression): Option[Long] = Some(e.eval().asInstanceOf[Int].toLong)
  }

  /** Whether an ORDER BY of all rows is below limits, offsets and projections only. */
  private def isOrdered(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: GlobalLimit | _: LocalLimit | _: Offset | _: SubqueryAlias => isOrdered(plan.children.head)
    case Sort(_, global, _, _) => global
    case _ => false
  }
}
