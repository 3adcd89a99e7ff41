package io.joinless.spark.plans.nodes

import io.joinless.spark.plans.values.WindowFunctions
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** Window functions over rows that are already grouped by partition and sorted within it. Spark's
  * own node would be refused over a stream.
  *
  * @param output the columns of the child, then the values of the functions
  */
final case class RowWindows(child: LogicalPlan, windows: WindowFunctions, output: Seq[Attribute]) extends UnaryNode {

  /** The columns that the window functions add. */
  private def made: Seq[Attribute] = output.drop(child.output.size)

  /** All columns of the child are needed. */
  override lazy val references: AttributeSet = child.outputSet

  override def producedAttributes: AttributeSet = AttributeSet(made)

  override protected def stringArgs: Iterator[Any] = Iterator(made)

  override protected def withNewChildInternal(newChild: LogicalPlan): RowWindows = copy(child = newChild)
}
