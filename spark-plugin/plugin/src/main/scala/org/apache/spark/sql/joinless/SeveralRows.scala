package org.apache.spark.sql.joinless

import org.apache.spark.QueryContext
import org.apache.spark.sql.errors.QueryExecutionErrors

/** Spark's own error where a scalar subquery has several rows; private to Spark; checked on 4.2.0. */
object SeveralRows {

  /** @param context the place in the query's text, or null */
  def ofScalarSubquery(context: QueryContext): Throwable = QueryExecutionErrors.multipleRowScalarSubqueryError(context)
}
