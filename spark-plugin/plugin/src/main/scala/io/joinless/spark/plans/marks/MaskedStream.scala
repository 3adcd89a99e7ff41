package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A stream inside a subquery that does not say that it streams. Spark's checks refuse a stream
  * there, whatever the query is compiled to.
  *
  * It exists in analyzed plans only: starting a query compiles it away, or refuses the query.
  */
final case class MaskedStream(child: LogicalPlan) extends UnaryNode {

  override def isStreaming: Boolean = false

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): MaskedStream = copy(child = newChild)
}

object MaskedStream {

  /** The first stream that a subquery of the plan reads. */
  def in(plan: LogicalPlan): Option[LogicalPlan] =
    plan.collectFirstWithSubqueries { case MaskedStream(stream) => stream }

  /** The plan with its streams as they are. */
  def removed(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries { case MaskedStream(child) => child }
}
