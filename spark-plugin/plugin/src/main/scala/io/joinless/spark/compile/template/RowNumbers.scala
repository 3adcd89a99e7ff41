package io.joinless.spark.compile.template

import io.joinless.spark.rules.blocks.Conditions
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.Window

/** Conditions that keep the first rows of each partition by `ROW_NUMBER()`. */
private[compile] object RowNumbers {

  /** The n such that only the first n rows of a partition can pass a condition, where the window
    * has row numbers only. At least 1.
    */
  def atMost(condition: Expression, window: Window): Option[Int] = window.windowExpressions match {
    case Seq(number @ Alias(WindowExpression(_: RowNumber, _), _)) =>
      /** Whether an expression is the row number. */
      def is(e: Expression) = e.semanticEquals(number.toAttribute)
      Conditions.conjuncts(condition).collectFirst {
        case EqualTo(e, IntegerLiteral(n)) if is(e) => n
        case EqualTo(IntegerLiteral(n), e) if is(e) => n
        case LessThanOrEqual(e, IntegerLiteral(n)) if is(e) => n
        case GreaterThanOrEqual(IntegerLiteral(n), e) if is(e) => n
        case LessThan(e, IntegerLiteral(n)) if is(e) => n - 1
        case GreaterThan(IntegerLiteral(n), e) if is(e) => n - 1
      }.map(_.max(1))
    case _ => None
  }
}
