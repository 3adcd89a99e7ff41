package io.joinless.spark.plans

import io.joinless.spark.spec.{BlockSpec, GroupShape}
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

object DeltaRows {

  /** The attributes by which cells are chosen and that the result does not project, so that
    * different cells can return equal rows.
    *
    * A column projects its attribute where it is the stored key itself: equal columns are then
    * equal keys.
    */
  def hidden(spec: BlockSpec, projectedColumns: Seq[Int]): Seq[Int] = {
    val projected = projectedColumns.filter(_ >= 0).map(spec.output)
    spec.attributes.indices.filter { x =>
      spec.shares(x) > 1 && !projected.exists { c =>
        spec.relations(c.relation).keys.exists(k => k.attribute == x && k.ordinal == c.ordinal)
      }
    }
  }

  /** Changes of a block's result must be added up where some can cancel others out, or the form has
    * one row for all copies.
    */
  def addition(spec: BlockSpec, form: DeltaForm, projectedColumns: Seq[Int]): Addition = {
    val cancel = spec.inputs.exists(_.retractable)
    val crosses = hidden(spec, projectedColumns).nonEmpty
    def differ = crosses || spec.output.indices.exists(!projectedColumns.contains(_))
    if (form != DeltaForm.Weight && !(cancel && differ)) Addition.None
    else if (crosses) Addition.Across
    else Addition.Within
  }

  /** Where all columns of groups are projected, different rows are of different groups or of
    * different times of one group; where the grouping columns are, equal rows are of one group.
    */
  def addition(groups: GroupShape, form: DeltaForm, projectedColumns: Seq[Int]): Addition = {
    val keys = groups.columns.size
    if (groups.isClosing && form != DeltaForm.Weight) Addition.None
    else if ((0 until keys + groups.functions.size).forall(projectedColumns.contains)) Addition.None
    else if ((0 until keys).forall(projectedColumns.contains)) Addition.Within
    else Addition.Across
  }
}

/** Where changes of equal rows must be added up. */
sealed trait Addition

object Addition {

  /** Nowhere: there are no changes of equal rows, or the form has a row for each of them. */
  case object None extends Addition

  /** Within each partition. */
  case object Within extends Addition

  /** Across partitions. */
  case object Across extends Addition
}

/** An expression that an optimizer must not look into, because its value differs from batch to
  * batch.
  */
final case class Deferred(expression: Expression) extends LeafExpression with Unevaluable {

  override def dataType: DataType = expression.dataType

  override def nullable: Boolean = expression.nullable

  override def sql: String = expression.sql
}
