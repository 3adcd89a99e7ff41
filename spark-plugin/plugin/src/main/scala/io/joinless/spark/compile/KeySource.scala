package io.joinless.spark.compile

import io.joinless.spark.rules.Conditions
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._

/** Where the values of a plan's columns come from: the least part of the plan that has at least these values. */
private[compile] object KeySource {

  /** The part of `plan`, and what `values` are over it. Each row of `plan` has its values in some row of the part. */
  def apply(plan: LogicalPlan, values: Seq[Expression]): (LogicalPlan, Seq[Expression]) = plan match {
    case _ if !plan.exists(node => node.isInstanceOf[Join] || node.isInstanceOf[Aggregate]) => (plan, values)
    case Project(list, child) if list.forall(_.deterministic) =>
      val meaning = list.collect { case a: Alias => a.exprId -> a.child }.toMap
      apply(child, values.map(_.transform { case a: Attribute => meaning.getOrElse(a.exprId, a) }))
    case Filter(_, child) => apply(child, values)
    case Join(left, right, _: InnerLike, _, _) if Conditions.joinsStreams(plan.asInstanceOf[Join]) =>
      Seq(left, right).find(side => AttributeSet(values).subsetOf(side.outputSet)).fold((plan, values))(apply(
        _,
        values
      ))
    case StoredInput(child) => apply(child, values)
    case Aggregate(keys, results, child, _) if keys.nonEmpty =>
      val meaning = results.collect { case a: Alias => a.exprId -> a.child }.toMap
      val own = values.map(_.transform { case a: Attribute => meaning.getOrElse(a.exprId, a) })
      val columns = AttributeSet(keys.filter(_.isInstanceOf[Attribute]))
      if (own.forall(e => e.references.subsetOf(columns) && !e.exists(_.isInstanceOf[AggregateExpression])))
        apply(child, own)
      else (plan, values)
    case _ => (plan, values)
  }

  /** Whether the values come from one input of the joins in `plan`: joining by them makes no cycle. */
  def isOneRelation(plan: LogicalPlan, values: Seq[Expression]): Boolean = plan match {
    case Project(list, child) =>
      val meaning = list.collect { case a: Alias => a.exprId -> a.child }.toMap
      isOneRelation(child, values.map(_.transform { case a: Attribute => meaning.getOrElse(a.exprId, a) }))
    case Filter(_, child) => isOneRelation(child, values)
    case join @ Join(left, right, _: InnerLike, _, _) if Conditions.joinsStreams(join) =>
      Seq(left, right).exists(side => AttributeSet(values).subsetOf(side.outputSet) && isOneRelation(side, values))
    case _ => true
  }
}
