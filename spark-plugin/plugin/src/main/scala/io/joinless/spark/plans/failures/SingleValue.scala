package io.joinless.spark.plans.failures

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{BinaryExpression, Expression}
import org.apache.spark.sql.joinless.ExecutionErrors
import org.apache.spark.sql.types.DataType

/** The value of a scalar subquery: `value` where it has at most one row; Spark's error where it has
  * several.
  *
  * @param rows how many rows the subquery has; BIGINT, NULL stands for none
  */
final case class SingleValue(value: Expression, rows: Expression) extends BinaryExpression with CodegenFallback {

  override def left: Expression = value

  override def right: Expression = rows

  override def dataType: DataType = value.dataType

  override def nullable: Boolean = true

  override def eval(row: InternalRow): Any = {
    val count = rows.eval(row)
    if (count != null && count.asInstanceOf[Long] > 1)
      throw ExecutionErrors.severalRows(null)
    value.eval(row)
  }

  override def prettyName: String = "single_value"

  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): SingleValue =
    copy(value = newLeft, rows = newRight)
}
