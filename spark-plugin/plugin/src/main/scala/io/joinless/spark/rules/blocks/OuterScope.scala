package io.joinless.spark.rules.blocks

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The attributes that an expression reads from the plan it stands in, where it may contain
  * subqueries.
  *
  * A correlated subquery spans two scopes. Its `children` are expressions over both: columns of the
  * outer plan and, once conditions are pulled out of it, columns of its own plan. Before they are
  * pulled out, columns of the outer plan also stand inside its plan, as [[OuterReference]]s. So
  * attributes of an expression are collected and replaced here and nowhere else.
  */
private[spark] object OuterScope {

  /** The attributes of the outer plan, each as often as it is needed. */
  def attributes(expression: Expression): Seq[Attribute] = expression match {
    case attribute: Attribute => Seq(attribute)
    case subquery: SubqueryExpression =>
      subquery.children.flatMap(attributes).filterNot(subquery.plan.outputSet.contains)
    case other => other.children.flatMap(attributes)
  }

  /** The expression in which `to(a)` replaces each attribute `a` of the outer plan. */
  def replace(expression: Expression)(to: Attribute => Expression): Expression = expression match {
    case attribute: Attribute => to(attribute)
    case subquery: SubqueryExpression =>
      val ofSubquery = subquery.plan.outputSet
      withOuterReferences(subquery)(to).mapChildren(replace(_)(a => if (ofSubquery.contains(a)) a else to(a)))
    case other => other.mapChildren(replace(_)(to))
  }

  /** The subquery, with `to(a)` in place of each outer attribute `a` that its plan refers to. An
    * [[OuterReference]] can hold a column only. So where `to(a)` is computed, the old one stays.
    */
  private def withOuterReferences(
      subquery: SubqueryExpression
  )(to: Attribute => Expression): SubqueryExpression = {
    val plan = subquery.plan
    val replaced = plan.transformAllExpressionsWithSubqueries { case reference @ OuterReference(a: Attribute) =>
      to(a) match {
        case named: NamedExpression if named ne a => OuterReference(named)
        case _ => reference
      }
    }
    if (replaced eq plan) subquery else subquery.withNewPlan(replaced)
  }

  /** Every expression of the node with its attributes replaced. */
  def replaceIn(plan: LogicalPlan)(to: Attribute => Expression): LogicalPlan = plan.mapExpressions(replace(_)(to))
}
