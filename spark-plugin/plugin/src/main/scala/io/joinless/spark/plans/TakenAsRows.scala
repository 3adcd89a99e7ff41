package io.joinless.spark.plans

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A stream of which each row is a row, though it may be a change feed ([[ChangeFeeds]]): `joinless.rows` says so.
  *
  * It exists in analyzed plans only, and decides nothing else: plans that are compiled or optimized are without it.
  */
final case class TakenAsRows(child: LogicalPlan) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): TakenAsRows = copy(child = newChild)
}

object TakenAsRows {

  /** The plan without these marks; `eq` where it has none. */
  def removed(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries { case TakenAsRows(child) => child }
}
