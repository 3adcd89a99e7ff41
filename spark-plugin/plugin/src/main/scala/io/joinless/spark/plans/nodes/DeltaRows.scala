package io.joinless.spark.plans.nodes

import io.joinless.spark.plans.reasons.UnboundedTime
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** The net changes of a result: rows of `child`, whose last column is their weight, emitted in
  * `form`.
  *
  * @param projectedColumns per column of the result, the position of the column of the stateful
  *   operator that it projects; −1 where it is computed. Rows that differ in that operator's
  *   columns can then be equal here, and their weights must be added up
  * @param output the result's columns, then the column of the form
  * @param unbounded the result's columns in which later rows can have times of any age
  */
final case class DeltaRows(
    child: LogicalPlan,
    form: DeltaForm,
    projectedColumns: Seq[Int],
    output: Seq[Attribute],
    unbounded: Seq[UnboundedTime] = Nil
) extends UnaryNode {

  override protected def stringArgs: Iterator[Any] = Iterator(form, projectedColumns, output)

  /** All columns of the child are needed. */
  override lazy val references: AttributeSet = child.outputSet

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override protected def withNewChildInternal(newChild: LogicalPlan): DeltaRows = copy(child = newChild)
}
