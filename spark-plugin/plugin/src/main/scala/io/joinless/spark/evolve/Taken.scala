package io.joinless.spark.evolve

import io.joinless.spark.spec.StoredRelation
import org.apache.spark.sql.catalyst.expressions.{ExprId, Expression}

/** Rows that a query takes from those that another one has stored.
  *
  * @param scan its position in the query
  * @param columns the ids of the columns of the plan that has the rows
  * @param stream the ids of the columns of the stream
  * @param operator that has stored them
  * @param values of the columns, over the stored columns and the count of a row after them
  * @param conditions which of the stored rows they are, over the same
  */
final private[spark] case class Taken(
    scan: Int,
    columns: Seq[ExprId],
    stream: Seq[ExprId],
    operator: Long,
    of: StoredRelation,
    values: Seq[Expression],
    conditions: Seq[Expression]
)
