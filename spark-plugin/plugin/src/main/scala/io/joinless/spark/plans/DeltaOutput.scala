package io.joinless.spark.plans

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression, LeafExpression, Unevaluable}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.types.DataType

/** A request for the changes of `child` instead of its rows; nothing is decided yet.
  *
  * `incrementalEnumerate()` puts it below a projection of the child's columns and a
  * [[ChangeColumn]]:
  * {{{ Project(child columns, ChangeColumn AS _change_type) / DeltaOutput(child) }}}
  * Starting a query compiles both into [[DeltaRows]] over a join block
  * ([[io.joinless.spark.start.CompileDeltas]]).
  */
final case class DeltaOutput(child: LogicalPlan) extends UnaryNode {

  override def output: Seq[Attribute] = child.output

  override protected def withNewChildInternal(newChild: LogicalPlan): DeltaOutput = copy(child = newChild)
}

/** The column that describes the change, as long as nothing is decided. Not deterministic, so that
  * no rule moves it.
  */
final case class ChangeColumn(form: DeltaForm) extends LeafExpression with Unevaluable {

  override def dataType: DataType = form.dataType

  override def nullable: Boolean = false

  override lazy val deterministic: Boolean = false
}

/** `DeltaOutput` in SQL, before its child is resolved and its columns are known. */
final case class UnresolvedDeltaOutput(child: LogicalPlan, form: DeltaForm) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedDeltaOutput = copy(child = newChild)
}

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

/** An expression that an optimizer must not look into, because its value differs from batch to
  * batch.
  */
final case class Deferred(expression: Expression) extends LeafExpression with Unevaluable {

  override def dataType: DataType = expression.dataType

  override def nullable: Boolean = expression.nullable

  override def sql: String = expression.sql
}
