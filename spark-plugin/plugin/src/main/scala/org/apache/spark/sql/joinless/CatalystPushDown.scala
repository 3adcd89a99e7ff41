package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, SubqueryExpression, Unevaluable}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.internal.connector.SupportsPushDownCatalystFilters

/** A scan that is offered conditions as Spark's own expressions: conditions that it accepts are
  * evaluated exactly as Spark would.
  *
  * `SupportsPushDownCatalystFilters` is internal to Spark.
  */
trait CatalystPushDown extends SupportsPushDownCatalystFilters {

  /** Whether the scan checks a deterministic condition itself. */
  protected def take(condition: Expression): Boolean

  /** Returns the conditions that Spark must still check. */
  final override def pushFilters(conditions: Seq[Expression]): Seq[Expression] =
    conditions.filterNot(condition => evaluable(condition) && take(condition))

  /** Empty: accepted conditions are shown in the scan's description. */
  final override def pushedFilters: Array[Predicate] = Array.empty

  /** Whether a condition can be evaluated on a row by itself. */
  private def evaluable(condition: Expression): Boolean = condition.deterministic && !condition.exists {
    case _: Attribute => false
    case e => e.isInstanceOf[Unevaluable] || e.isInstanceOf[SubqueryExpression]
  }
}
