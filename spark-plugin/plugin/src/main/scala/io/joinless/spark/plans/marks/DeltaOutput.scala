package io.joinless.spark.plans.marks

import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.expressions.{Attribute, LeafExpression, Unevaluable}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.types.DataType

/** A request for the changes of `child` instead of its rows; nothing is decided yet.
  *
  * `incrementalEnumerate()` puts it below a projection of the child's columns and a
  * [[ChangeColumn]]:
  * {{{ Project(child columns, ChangeColumn AS _change_type) / DeltaOutput(child) }}}
  * Starting a query compiles both into [[io.joinless.spark.plans.nodes.DeltaRows]] over a join
  * block ([[io.joinless.spark.start.CompileDeltas]]).
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
