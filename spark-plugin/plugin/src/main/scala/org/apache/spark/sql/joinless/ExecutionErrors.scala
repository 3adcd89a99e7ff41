package org.apache.spark.sql.joinless

import org.apache.spark.QueryContext
import org.apache.spark.sql.errors.QueryExecutionErrors

/** Spark's own errors of values. `QueryExecutionErrors` is private to Spark. */
object ExecutionErrors {

  def sumOfLongs(): ArithmeticException = QueryExecutionErrors.arithmeticOverflowError("long overflow", "try_sum")

  def sumOfDecimals(): ArithmeticException = QueryExecutionErrors.overflowInSumOfDecimalError(null, "try_sum")

  def sumOfIntervals(): ArithmeticException =
    QueryExecutionErrors.withoutSuggestionIntervalArithmeticOverflowError(null)

  /** A scalar subquery has several rows.
    *
    * @param context position of the scalar subquery in the text of the query, or null
    */
  def severalRows(context: QueryContext): Throwable = QueryExecutionErrors.multipleRowScalarSubqueryError(context)
}
