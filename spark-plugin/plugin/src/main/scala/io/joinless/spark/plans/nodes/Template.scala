package io.joinless.spark.plans.nodes

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics, UnaryNode}

/** The root of a query that is optimized only to be read: captures its plan at the point where
  * blocks are rewritten.
  */
final case class Template(child: LogicalPlan, taken: AtomicReference[LogicalPlan]) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): Template = copy(child = newChild)
}

/** A reference to the `number`-th stream of a template: nothing about the stream itself can affect
  * the shape of the plan.
  */
final case class StreamRef(number: Int, output: Seq[Attribute]) extends LeafNode with MultiInstanceRelation {

  override def isStreaming: Boolean = true

  override def newInstance(): LogicalPlan = copy(output = output.map(_.newInstance()))

  override def computeStats(): Statistics = Statistics(sizeInBytes = conf.defaultSizeInBytes)
}
