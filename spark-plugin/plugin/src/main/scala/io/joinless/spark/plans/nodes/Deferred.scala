package io.joinless.spark.plans.nodes

import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression, Unevaluable}
import org.apache.spark.sql.types.DataType

/** An expression that an optimizer must not look into, because its value differs from batch to
  * batch.
  */
final case class Deferred(expression: Expression) extends LeafExpression with Unevaluable {

  override def dataType: DataType = expression.dataType

  override def nullable: Boolean = expression.nullable

  override def sql: String = expression.sql
}
