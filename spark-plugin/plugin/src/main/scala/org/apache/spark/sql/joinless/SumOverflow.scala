package org.apache.spark.sql.joinless

import org.apache.spark.sql.errors.QueryExecutionErrors

/** Spark's own errors of a sum that does not fit its type. `QueryExecutionErrors` is private to Spark; checked on 4.2.0. */
object SumOverflow {

  def ofLongs(): ArithmeticException = QueryExecutionErrors.arithmeticOverflowError("long overflow", "try_sum")

  def ofIntervals(): ArithmeticException = QueryExecutionErrors.withoutSuggestionIntervalArithmeticOverflowError(null)
}
