package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** A sample that is kept of the rows of `child`: `size` of them without replacement, each as likely
  * as the others; or so many of each group of rows with the same values in some columns.
  *
  * Rows enter and leave it, so it stands only where changes are requested. Compiling such a query
  * replaces it; a plain query that has one is refused.
  *
  * @param key if the sample is merged from several: the column with the key of each row, behind
  *   those of `child`. Each is a sample of that size then, and the rows with the least keys are the
  *   sample
  * @param by columns of `child`; none: all rows are one group
  */
final case class SampleOf(
    child: LogicalPlan,
    size: Int,
    seed: Long,
    by: Seq[Attribute] = Nil,
    key: Option[Attribute] = None
) extends UnaryNode {

  override def output: Seq[Attribute] = child.output ++ key

  /** All columns: which rows are drawn depends on them, and each use of a sample must be the same
    * sample, whatever columns it needs.
    */
  override lazy val references: AttributeSet = child.outputSet

  override def producedAttributes: AttributeSet = AttributeSet(key)

  override protected def withNewChildInternal(newChild: LogicalPlan): SampleOf = copy(child = newChild)
}

/** `sample` in SQL, whose query is not resolved yet.
  *
  * @param by names of columns; none: all rows are one group
  * @param replacement whether a row may be drawn several times
  */
final case class UnresolvedSample(
    child: LogicalPlan,
    size: Long,
    seed: Long,
    by: Seq[String],
    replacement: Boolean
) extends UnaryNode {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def withNewChildInternal(newChild: LogicalPlan): UnresolvedSample = copy(child = newChild)
}
