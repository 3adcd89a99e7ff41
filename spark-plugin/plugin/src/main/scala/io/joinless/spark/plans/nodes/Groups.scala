package io.joinless.spark.plans.nodes

import io.joinless.spark.plans.values.GroupFunction
import io.joinless.spark.spec.GroupShape
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}

/** The changes of a GROUP BY: a changed group is deleted with its old values and inserted with its
  * new ones.
  *
  * Everything is positional: `child` returns the `shape.columns.size` grouping columns, then the
  * arguments of the functions, then the weight of the row (BIGINT, not NULL); `output` is the
  * grouping columns, the values of the functions, and the weight of the change (1 or −1).
  *
  * @param purpose what the groups are for, where the query has no GROUP BY for them; for explain
  * @param lag by how many microseconds times of later groups can be below the watermark, for the
  *   operators above
  */
final case class Groups(
    child: LogicalPlan,
    functions: Seq[GroupFunction],
    shape: GroupShape,
    output: Seq[Attribute],
    purpose: Option[String] = None,
    lag: Long = 0L
) extends UnaryNode {

  /** All columns of the child are needed. */
  override lazy val references: AttributeSet = child.outputSet

  override def producedAttributes: AttributeSet = AttributeSet(output)

  /** The groups, described for people. */
  def title: String = purpose.getOrElse(shape.text)

  override protected def stringArgs: Iterator[Any] = Iterator(title)

  override protected def withNewChildInternal(newChild: LogicalPlan): Groups = copy(child = newChild)
}
