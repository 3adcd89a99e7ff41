package io.joinless.spark.plans.marks

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.{DataFrame, SparkSession}

/** The call of a table function whose result is computed of relations, once these are resolved.
  *
  * @param function its name
  * @param children the relations, which the call has in `TABLE(...)`
  * @param made the result, of a session and the relations
  */
final case class UnresolvedCall(function: String, children: Seq[LogicalPlan])(
    val made: (SparkSession, Seq[DataFrame]) => DataFrame
) extends LogicalPlan {

  override lazy val resolved: Boolean = false

  override def output: Seq[Attribute] = Nil

  override protected def otherCopyArgs: Seq[AnyRef] = Seq(made)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[LogicalPlan]): UnresolvedCall =
    copy(children = newChildren)(made)
}
