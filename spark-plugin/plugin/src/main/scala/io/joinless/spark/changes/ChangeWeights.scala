package io.joinless.spark.changes

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.values.ChangeTypes
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{Expression, UnaryExpression}
import org.apache.spark.sql.types.{DataType, LongType}

/** The weight of a row by its change type; NULL or an unknown type is the error
  * `JOINLESS_UNKNOWN_CHANGE_TYPE`.
  *
  * @param source the source of the row, for the error
  */
final case class ChangeTypeWeight(child: Expression, source: String) extends UnaryExpression with CodegenFallback {

  override def dataType: DataType = LongType

  override def nullable: Boolean = false

  /** The weight of the row's change type, by [[ChangeTypes]]: 1 or −1, never 0. */
  override def eval(row: InternalRow): Long = {
    val value = child.eval(row)
    val weight = if (value == null) 0L else ChangeTypes.weight(value.toString)
    if (weight == 0L) throw JoinlessErrors.unknownChangeType(Option(value).map(_.toString), source)
    weight
  }

  override def prettyName: String = "change_type_weight"

  override protected def withNewChildInternal(newChild: Expression): ChangeTypeWeight = copy(child = newChild)
}

/** A given weight (BIGINT), which must not be NULL. */
final case class GivenWeight(child: Expression, source: String) extends UnaryExpression with CodegenFallback {

  override def dataType: DataType = LongType

  override def nullable: Boolean = false

  override def eval(row: InternalRow): Any = {
    val value = child.eval(row)
    if (value == null) throw JoinlessErrors.unknownWeight(source)
    value
  }

  override def prettyName: String = "given_weight"

  override protected def withNewChildInternal(newChild: Expression): GivenWeight = copy(child = newChild)
}
