package io.joinless.spark.plans.nodes

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** The rows of a stream that are not late by the query's watermark. Where several operators read
  * one stream, and wait for different times, each of them reads the same rows.
  *
  * @param times the times that decide: each is a time, or a window, which stands for its end; where
  *   there is none, no row is late
  * @param lag by how many microseconds such times can be below the watermark and not be late
  */
final case class InTime(times: Seq[Expression], lag: Long, child: LogicalPlan) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override lazy val references: AttributeSet = AttributeSet(times)

  override protected def withNewChildInternal(newChild: LogicalPlan): InTime = copy(child = newChild)
}
