package io.joinless.spark.plans.failures

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._

/** The range of a whole number or a decimal over all possible rows: from the types of columns,
  * carried through arithmetic.
  *
  * So a product of two columns of 32 bits as a number of 64 bits is known to fit.
  */
object ValueBounds {

  /** Whether arithmetic of these operands fits its type and needs no rounding. */
  def fits(e: BinaryArithmetic): Boolean = exact(e).exists(range => ofType(e.dataType).exists(_.contains(range)))

  /** The range of an expression over all rows; None where no bounds are known. */
  private[plans] def of(e: Expression): Option[ValueRange] = e match {
    case Literal(null, dataType) => ofType(dataType).map(_ => ValueRange(0, 0))
    case Literal(value: Decimal, _) => Some(ValueRange(value.toBigDecimal, value.toBigDecimal))
    case Literal(value: Number, ByteType | ShortType | IntegerType | LongType) =>
      Some(ValueRange(value.longValue, value.longValue))
    case cast: Cast if Cast.canUpCast(cast.child.dataType, cast.dataType) =>
      of(cast.child).filter(range => ofType(cast.dataType).exists(_.contains(range))).orElse(ofType(cast.dataType))
    case If(_, yes, no) => for (a <- of(yes); b <- of(no)) yield a.or(b)
    case arithmetic: BinaryArithmetic if fits(arithmetic) => exact(arithmetic)
    case other => ofType(other.dataType)
  }

  /** The range of the result without the bounds of its type. */
  private def exact(e: BinaryArithmetic): Option[ValueRange] = {
    def operands = for (a <- of(e.left); b <- of(e.right)) yield (a, b)
    val (left, right) = (scale(e.left.dataType), scale(e.right.dataType))
    e match {
      case _: Add if scale(e.dataType) >= left.max(right) => operands.map { case (a, b) => a + b }
      case _: Subtract if scale(e.dataType) >= left.max(right) => operands.map { case (a, b) => a - b }
      case _: Multiply if scale(e.dataType) >= left + right => operands.map { case (a, b) => a * b }
      case _ => None
    }
  }

  /** The number of digits after the decimal point. */
  private def scale(dataType: DataType): Int = dataType match {
    case d: DecimalType => d.scale
    case _ => 0
  }

  /** The range of a type of whole numbers or decimals; None for all other types. */
  private[plans] def ofType(dataType: DataType): Option[ValueRange] = dataType match {
    case ByteType => Some(ValueRange(Byte.MinValue, Byte.MaxValue))
    case ShortType => Some(ValueRange(Short.MinValue, Short.MaxValue))
    case IntegerType => Some(ValueRange(Int.MinValue, Int.MaxValue))
    case LongType => Some(ValueRange(Long.MinValue, Long.MaxValue))
    case d: DecimalType =>
      val most = BigDecimal(BigInt(10).pow(d.precision) - 1, d.scale)
      Some(ValueRange(-most, most))
    case _ => None
  }
}
