package io.joinless.spark.changes

import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}

/** The newest row of each key, as the SQL pattern
  * `ROW_NUMBER() OVER (PARTITION BY key ORDER BY order DESC NULLS LAST) = 1`.
  */
object Latest {

  private val Number = "_joinless_row_number"

  /** @param rows resolved; the columns of the key and of the order need not be there, which is
    *   Spark's error then
    */
  def apply(rows: LogicalPlan, key: Seq[String], order: Seq[String]): LogicalPlan = {
    val newest = order.map(column => SortOrder(UnresolvedAttribute.quoted(column), Descending, NullsLast, Nil))
    val window = WindowSpecDefinition(key.map(UnresolvedAttribute.quoted), newest, UnspecifiedFrame)
    val numbered = Project(rows.output :+ Alias(WindowExpression(RowNumber(), window), Number)(), rows)
    Project(rows.output, Filter(EqualTo(UnresolvedAttribute.quoted(Number), Literal(1)), numbered))
  }
}
