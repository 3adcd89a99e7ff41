package io.joinless.spark.compile.template

import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression, IsNotNull, Predicate}
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** LEFT JOINs of which one joins by columns that another one added:
  * {{{
  * (orders LEFT JOIN payments) LEFT JOIN refunds ON refunds.payment = payments.id
  * =  orders LEFT JOIN (payments LEFT JOIN refunds)
  * }}}
  * where the condition reads nothing else of the left side, and cannot hold for the NULLs of an
  * order without a payment. So times of payments bound those of refunds; NULLs would bound nothing.
  */
private[compile] object OuterChains {

  /** Set on a LEFT JOIN: the part of its right side that decides whether a row has a match. */
  val decidedBy: TreeNodeTag[LogicalPlan] = TreeNodeTag[LogicalPlan]("joinless.decidedBy")

  /** The plan in which such chains are right-deep. */
  def rightDeep(plan: LogicalPlan): LogicalPlan = plan.transformUp { case join: Join => rightDeepJoin(join) }

  /** The join with the LEFT JOIN on its left side moved to its right side, if it joins by columns
    * of that one's right side only.
    */
  private def rightDeepJoin(join: Join): LogicalPlan = join match {
    case Join(Padded(inner, columns), right, LeftOuter, Some(condition), _)
        if Conditions.joinsStreams(join) && ofOther(condition, inner.right, right) =>
      val all = inner.copy(right = rightDeepJoin(join.copy(left = inner.right)))
      all.setTagValue(decidedBy, inner.getTagValue(decidedBy).getOrElse(inner.right))
      Project(columns ++ join.right.output.map(_.withNullability(true)), all)
    case _ => join
  }

  /** A LEFT JOIN of streams, some columns of which are projected unchanged. */
  private object Padded {
    def unapply(plan: LogicalPlan): Option[(Join, Seq[Attribute])] = plan match {
      case join @ Join(_, _, LeftOuter, _, _) if Conditions.joinsStreams(join) => Some((join, join.output))
      case Project(list, child) if list.forall(_.isInstanceOf[Attribute]) =>
        unapply(child).map { case (join, _) => (join, list.map(_.toAttribute)) }
      case _ => None
    }
  }

  /** Whether a condition reads the columns `padded` and the right side only, and fails where
    * `padded` are NULLs.
    *
    * @param padded the right side of the LEFT JOIN below
    */
  private def ofOther(condition: Expression, padded: LogicalPlan, right: LogicalPlan): Boolean =
    condition.deterministic && condition.references.subsetOf(padded.outputSet ++ right.outputSet) &&
      Conditions.conjuncts(condition).exists(rejectsNulls(_, padded.outputSet))

  /** Whether the condition does not hold where all of these columns are NULL. */
  private def rejectsNulls(condition: Expression, columns: AttributeSet): Boolean = {

    /** Whether an expression is NULL where all of the columns are. */
    def isNull(e: Expression): Boolean = e match {
      case a: Attribute => columns.contains(a)
      case other => other.nullIntolerant && other.children.exists(isNull)
    }
    condition match {
      case IsNotNull(e) => isNull(e)
      case predicate: Predicate => isNull(predicate)
      case _ => false
    }
  }
}
