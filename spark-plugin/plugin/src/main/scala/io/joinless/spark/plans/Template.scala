package io.joinless.spark.plans

import java.util.concurrent.atomic.AtomicReference

import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan, Statistics, UnaryNode}

/** Stands on a query that is optimized only to be read: takes down its plan at the point where blocks are rewritten. */
final case class Template(child: LogicalPlan, taken: AtomicReference[LogicalPlan]) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): Template = copy(child = newChild)
}

/** Stands for the `number`-th stream of a template: nothing about the stream itself can shape the plan. */
final case class StreamRef(number: Int, output: Seq[Attribute]) extends LeafNode with MultiInstanceRelation {

  override def isStreaming: Boolean = true

  override def newInstance(): LogicalPlan = copy(output = output.map(_.newInstance()))

  override def computeStats(): Statistics = Statistics(sizeInBytes = conf.defaultSizeInBytes)
}
