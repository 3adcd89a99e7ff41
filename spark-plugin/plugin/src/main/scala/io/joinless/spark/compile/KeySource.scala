package io.joinless.spark.compile

import io.joinless.spark.compile.template.StoredInput
import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** The source of the values of a plan's columns: the smallest part of the plan that has at least
  * these values.
  */
private[compile] object KeySource {

  /** The part of `plan`, and `values` as expressions over it. The values of each row of `plan`
    * occur in some row of the part.
    * {{{
    * no join or GROUP BY below     the plan itself
    * projection, filter            as far as its child goes
    * inner join of streams         as far as the side goes that has all values, if one has them
    * GROUP BY                      as far as its child goes, if values read grouping columns only
    * }}}
    * Anything else is the plan itself.
    */
  def apply(plan: LogicalPlan, values: Seq[Expression]): (LogicalPlan, Seq[Expression]) = plan match {
    case _ if !plan.exists(node => node.isInstanceOf[Join] || node.isInstanceOf[Aggregate]) => (plan, values)
    case Project(list, child) if list.forall(_.deterministic) =>
      apply(child, below(list, values))
    case Filter(_, child) => apply(child, values)
    case Joined(sides) => sides.find(has(_, values)).fold((plan, values))(apply(_, values))
    case StoredInput(child) => apply(child, values)
    case Aggregate(keys, results, child, _) if keys.nonEmpty =>
      val ofChild = below(results, values)
      val columns = AttributeSet(keys.filter(_.isInstanceOf[Attribute]))
      if (ofChild.forall(e => e.references.subsetOf(columns) && !e.exists(_.isInstanceOf[AggregateExpression])))
        apply(child, ofChild)
      else (plan, values)
    case _ => (plan, values)
  }

  /** The same for values that may fail: they are computed for rows of `plan` only. */
  def ofSameRows(plan: LogicalPlan, values: Seq[Expression]): (LogicalPlan, Seq[Expression]) = plan match {
    case Project(list, child) if list.forall(_.deterministic) => ofSameRows(child, below(list, values))
    case join: Join if join.getTagValue(keepsLeft).isDefined && has(join.left, values) => ofSameRows(join.left, values)
    case _ => (plan, values)
  }

  /** Set on an inner join that replaces an outer one: its result has each row of its left side. */
  val keepsLeft: TreeNodeTag[Unit] = TreeNodeTag[Unit]("joinless.keepsLeft")

  /** Whether one input of the joins in `plan` has the values: joining by them makes no cycle. */
  def isOneRelation(plan: LogicalPlan, values: Seq[Expression]): Boolean = plan match {
    case Project(list, child) => isOneRelation(child, below(list, values))
    case Filter(_, child) => isOneRelation(child, values)
    case Joined(sides) => sides.exists(side => has(side, values) && isOneRelation(side, values))
    case _ => true
  }

  /** Values over a projection, as expressions over the projection's input. */
  private def below(list: Seq[NamedExpression], values: Seq[Expression]): Seq[Expression] = {
    val meaning = list.collect { case a: Alias => a.exprId -> a.child }.toMap
    values.map(_.transform { case a: Attribute => meaning.getOrElse(a.exprId, a) })
  }

  /** Whether a side has all columns that the values read. */
  private def has(side: LogicalPlan, values: Seq[Expression]): Boolean =
    AttributeSet(values).subsetOf(side.outputSet)

  /** The sides of an inner join of streams. */
  private object Joined {
    def unapply(plan: LogicalPlan): Option[Seq[LogicalPlan]] = plan match {
      case join @ Join(_, _, _: InnerLike, _, _) if Conditions.joinsStreams(join) => Some(join.children)
      case _ => None
    }
  }
}
