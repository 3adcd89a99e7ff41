package io.joinless.spark.compile.template

import io.joinless.spark.plans.nodes.Deferred
import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Expressions of the current time, hidden from the optimizer, which would fold them to its own
  * time.
  */
private[compile] object CurrentTime {

  /** The plan in which such expressions are deferred. */
  def hidden(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressionsWithSubqueries(hiding)

  /** The plan in which they are back. */
  def shown(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithSubqueries { case Deferred(e) => e }

  /** The expression in which such expressions are deferred. */
  def deferred(expression: Expression): Expression = expression.transform(hiding)

  private def hiding: PartialFunction[Expression, Expression] = { case e if Conditions.isTime(e) => Deferred(e) }
}
