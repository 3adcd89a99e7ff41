package io.joinless.spark.spec

import io.joinless.engine.algebra.ExactSums
import io.joinless.engine.view.Lift
import io.joinless.engine.tuples.TupleArena
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{
  BooleanType,
  ByteType,
  DataType,
  DayTimeIntervalType,
  Decimal,
  DecimalType,
  IntegerType,
  LongType,
  ShortType,
  YearMonthIntervalType
}
import org.apache.spark.unsafe.Platform

/** The factors of one relation's rows in sums: each factor is a stored column of whole numbers, of
  * decimals (by their digits), or of truth values (1). A row whose factor is NULL does not count in
  * that sum.
  */
final class FactorLift(ring: ExactSums, factors: Array[FactorLift.Factor], columns: Int) extends Lift {
  private[this] val nullWords = RowCodec.nullWords(columns)

  override def multiply(into: Array[Long], arena: TupleArena, row: Int): Unit = {
    val (page, start) = (arena.page(row), arena.start(row))
    var f = 0
    while (f < factors.length) {
      val factor = factors(f)
      val isNull = (page(start + (factor.ordinal >>> 6)) >>> (factor.ordinal & 63) & 1L) != 0
      if (isNull) ring.multiplySum(into, factor.number, 0L, 0L)
      if (factor.sum >= 0) {
        if (isNull) ring.multiplySum(into, factor.sum, 0L, 0L)
        else multiplySum(into, factor, page, start)
      }
      f += 1
    }
  }

  private def multiplySum(into: Array[Long], factor: FactorLift.Factor, page: Array[Long], start: Int): Unit = {
    val word = page(start + nullWords + factor.ordinal)
    factor.dataType match {
      case BooleanType =>
      case ByteType => multiplyLong(into, factor, word.toByte.toLong)
      case ShortType => multiplyLong(into, factor, word.toShort.toLong)
      case IntegerType | _: YearMonthIntervalType => multiplyLong(into, factor, word.toInt.toLong)
      case d: DecimalType if d.precision > Decimal.MAX_LONG_DIGITS =>
        multiplyBytes(into, factor, page, 8L * start + (word >>> 32), word.toInt)
      case _ => multiplyLong(into, factor, word)
    }
  }

  private def multiplyLong(into: Array[Long], factor: FactorLift.Factor, value: Long): Unit =
    ring.multiplySum(into, factor.sum, value, value >> 63)

  /** @param at the position of the first byte of a signed number, the highest byte first */
  private def multiplyBytes(
      into: Array[Long],
      factor: FactorLift.Factor,
      page: Array[Long],
      at: Long,
      bytes: Int
  ): Unit = {
    def byte(i: Int) = Platform.getByte(page, Platform.LONG_ARRAY_OFFSET + at + i).toLong
    var high = if (byte(0) < 0) -1L else 0L
    var low = high
    var i = 0
    while (i < bytes) {
      high = high << 8 | low >>> 56
      low = low << 8 | byte(i) & 0xff
      i += 1
    }
    ring.multiplySum(into, factor.sum, low, high)
  }
}

object FactorLift {

  /** @param number which sum of the ring counts the results whose factors are all present
    * @param sum which one adds them up; −1 where they are only counted
    */
  final case class Factor(ordinal: Int, dataType: DataType, number: Int, sum: Int)

  /** Whether columns of this type can be a factor. */
  def takes(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType => true
    case _: DecimalType | _: YearMonthIntervalType | _: DayTimeIntervalType => true
    case _ => false
  }

  /** The number of bits of the largest magnitude of a factor. */
  def bits(dataType: DataType): Int = dataType match {
    case BooleanType => 1
    case d: DecimalType => math.ceil(d.precision * 3.3219281).toInt
    case other if UnsafeRow.isFixedLength(other) => 8 * other.defaultSize - 1
    case other => throw new IllegalStateException(s"${other.sql} is no factor")
  }
}
