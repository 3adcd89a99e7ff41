package io.joinless.spark.plans.nodes

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** One record for each key of a batch: `child` has the columns key, value and weight of single
  * changes; the node has the columns key and value. Sorting and grouping are its operator's: Spark
  * would refuse either over a stream without state.
  *
  * @param columns of the key, for errors
  */
final case class KeyedRecords(child: LogicalPlan, columns: String) extends UnaryNode {

  override def output: Seq[Attribute] = child.output.init

  /** All columns of the child are needed. */
  override lazy val references: AttributeSet = child.outputSet

  override protected def withNewChildInternal(newChild: LogicalPlan): KeyedRecords = copy(child = newChild)
}
