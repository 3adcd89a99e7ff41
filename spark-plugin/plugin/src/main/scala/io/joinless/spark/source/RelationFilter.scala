package io.joinless.spark.source

import org.apache.spark.sql.catalyst.expressions.Expression

/** A condition on the rows of one relation, over its stored columns by position. */
final case class RelationFilter(relation: Int, condition: Expression, sql: String)
