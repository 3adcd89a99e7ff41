package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, NamedExpression}
import org.apache.spark.sql.types.Metadata

/** A value that replaces a column under its name, id, qualifier and metadata, so that no operator
  * above changes.
  */
object InPlaceOf {

  /** The value under the column's name, id, qualifier and metadata. */
  def apply(column: NamedExpression, value: Expression): Alias = apply(column, value, column.metadata)

  /** The value under the column's name, id and qualifier.
    *
    * @param metadata used instead of the column's
    */
  def apply(column: NamedExpression, value: Expression, metadata: Metadata): Alias =
    Alias(value, column.name)(column.exprId, column.qualifier, explicitMetadata = Some(metadata))
}
