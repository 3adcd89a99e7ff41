package io.joinless.spark.plans

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.types.Metadata

/** A value that takes the place of a column: under its name, id, qualifier and metadata, so that nothing above notices. */
object InPlaceOf {

  def apply(column: NamedExpression, value: Expression): Alias = apply(column, value, column.metadata)

  /** @param metadata instead of the column's */
  def apply(column: NamedExpression, value: Expression, metadata: Metadata): Alias =
    Alias(value, column.name)(column.exprId, column.qualifier, explicitMetadata = Some(metadata))
}
