package io.joinless.spark.plans.values

import java.math.{BigDecimal, BigInteger}

import io.joinless.engine.algebra.ExactSum
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.EvalMode
import org.apache.spark.sql.joinless.ExecutionErrors
import org.apache.spark.sql.types._

/** Exact sums of whole numbers, of decimals (by their digits) and of intervals, and their values in
  * Spark's types.
  */
private[spark] object SumValue {

  /** Adds the value of a column, which is not NULL, `weight` times. */
  def add(sum: ExactSum, row: InternalRow, ordinal: Int, dataType: DataType, weight: Long): Unit = dataType match {
    case ByteType => sum.add(row.getByte(ordinal).toLong, weight)
    case ShortType => sum.add(row.getShort(ordinal).toLong, weight)
    case IntegerType | _: YearMonthIntervalType => sum.add(row.getInt(ordinal).toLong, weight)
    case LongType | _: DayTimeIntervalType => sum.add(row.getLong(ordinal), weight)
    case d: DecimalType =>
      val value = row.getDecimal(ordinal, d.precision, d.scale)
      if (d.precision <= Decimal.MAX_LONG_DIGITS) sum.add(value.toUnscaledLong, weight)
      else sum.add(value.toJavaBigDecimal.unscaledValue, weight)
    case other => throw new IllegalStateException(s"no sum of ${other.sql}")
  }

  /** The sum as a value of Spark's. A sum that does not fit fails, is NULL or wraps around as
    * Spark's does.
    *
    * @param argument the type of the summed values
    */
  def of(sum: ExactSum, argument: DataType, as: DataType, mode: EvalMode.Value): Any = as match {
    case DoubleType => sum.toDouble
    case d: DecimalType =>
      val digits = new BigDecimal(sum.toBigInteger, scaleOf(argument))
      if (digits.precision > d.precision) null else Decimal(digits, d.precision, d.scale)
    case _: YearMonthIntervalType =>
      val value = sum.toBigInteger
      if (value.bitLength < 32) value.intValue else throw ExecutionErrors.sumOfIntervals()
    case _: DayTimeIntervalType =>
      val value = sum.toBigInteger
      if (value.bitLength < 64) value.longValue else throw ExecutionErrors.sumOfIntervals()
    case LongType => long(sum.toBigInteger, mode)
    case _ => throw new IllegalStateException(s"no sum of ${argument.sql} as ${as.sql}")
  }

  /** The sum as a BIGINT; one that does not fit wraps around, is NULL or fails, by the mode. */
  private def long(sum: BigInteger, mode: EvalMode.Value): Any =
    if (sum.bitLength < 64 || mode == EvalMode.LEGACY) sum.longValue
    else if (mode == EvalMode.TRY) null
    else throw ExecutionErrors.sumOfLongs()

  /** The number of digits after the decimal point. */
  private def scaleOf(argument: DataType): Int = argument match {
    case d: DecimalType => d.scale
    case _ => 0
  }
}
