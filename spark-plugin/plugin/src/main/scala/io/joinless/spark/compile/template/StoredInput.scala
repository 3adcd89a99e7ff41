package io.joinless.spark.compile.template

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** In a template: the result of `child` is an input of the operator above, which stores it. */
final private[compile] case class StoredInput(child: LogicalPlan) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): StoredInput = copy(child = newChild)
}
