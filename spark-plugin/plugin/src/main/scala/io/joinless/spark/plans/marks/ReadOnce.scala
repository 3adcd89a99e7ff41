package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A query whose tables are static, while its subqueries read streams: it streams, too, so that it
  * can be started. Its tables are read once, in the first batch.
  *
  * It exists in analyzed plans only: starting a query compiles it away, or refuses the query.
  */
final case class ReadOnce(child: LogicalPlan) extends UnaryNode {

  override def isStreaming: Boolean = true

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): ReadOnce = copy(child = newChild)
}

object ReadOnce {

  def isIn(plan: LogicalPlan): Boolean = plan.exists(_.isInstanceOf[ReadOnce])

  /** The query as it was written. */
  def removed(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries { case ReadOnce(child) => child }
}
