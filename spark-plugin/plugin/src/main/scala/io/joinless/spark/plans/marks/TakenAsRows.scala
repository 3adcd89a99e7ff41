package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A stream whose records are rows, though it may be a change feed ([[ChangeFeeds]]):
  * `joinless.rows` says so.
  *
  * It exists in analyzed plans only, and decides nothing else: it is removed from plans before they
  * are compiled or optimized.
  */
final case class TakenAsRows(child: LogicalPlan) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): TakenAsRows = copy(child = newChild)
}

object TakenAsRows {

  /** The plan without these marks; `eq` where it has none. */
  def removed(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries { case TakenAsRows(child) => child }
}
