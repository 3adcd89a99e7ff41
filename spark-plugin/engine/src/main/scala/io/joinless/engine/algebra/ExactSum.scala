package io.joinless.engine.algebra

import java.io.{DataInput, DataOutput}
import java.math.BigInteger

/** A sum without rounding: `mantissa · 2^exponent`, of integers (exponent 0) or of finite doubles.
  *
  * Addition is that of a group: every value that was added can be subtracted again, in any order.
  * An empty sum is 0. A small mantissa is a long, a larger one a `BigInteger`. The mantissa has no
  * trailing zeros behind the binary point. Memory: the digits between the largest and the smallest
  * value added, at most 2,100 bits plus the bits of the count.
  */
final class ExactSum {
  private[this] var small = 0L
  private[this] var large: BigInteger = null // used in place of `small`
  private[this] var exponent = 0

  def isZero: Boolean = large == null && small == 0L

  /** Adds `value · weight`. */
  def add(value: Long, weight: Long): Unit = add(value, 0, weight)

  /** Adds `value · weight`. */
  def add(value: BigInteger, weight: Long): Unit =
    if (value.bitLength < 64) add(value.longValue, 0, weight)
    else addLarge(value.multiply(BigInteger.valueOf(weight)), 0)

  /** Adds `value · weight`; `value` must be finite. */
  def add(value: Double, weight: Long): Unit = {
    val bits = java.lang.Double.doubleToRawLongBits(value)
    val (field, fraction) = ((bits >>> 52).toInt & 0x7ff, bits & 0xfffffffffffffL)
    // the magnitude is digits · 2^(max(field, 1) − 1075); a subnormal number has field 0
    val digits = if (field == 0) fraction else fraction | 1L << 52
    if (digits != 0L) {
      val zeros = java.lang.Long.numberOfTrailingZeros(digits)
      val odd = digits >>> zeros
      add(if (bits < 0) -odd else odd, math.max(field, 1) - 1075 + zeros, weight)
    }
  }

  def add(that: ExactSum): Unit = that.addTo(this)

  private def addTo(sum: ExactSum): Unit =
    if (large == null) sum.add(small, exponent, 1L) else sum.addLarge(large, exponent)

  /** Adds `digits · 2^power · weight`. */
  private def add(digits: Long, power: Int, weight: Long): Unit = if (digits != 0L && weight != 0L) {
    val high = Math.multiplyHigh(digits, weight)
    val low = digits * weight
    if (high == low >> 63) addSmall(low, power)
    else addLarge(BigInteger.valueOf(digits).multiply(BigInteger.valueOf(weight)), power)
  }

  /** Adds `digits · 2^power`, with longs if all digits of the sum fit one. */
  private def addSmall(digits: Long, power: Int): Unit =
    if (isZero) {
      small = digits
      exponent = power
      normalize()
    } else {
      val shift = power - exponent
      val added = if (shift >= 0) shifted(digits, shift) else digits
      val own = if (shift >= 0) small else shifted(small, -shift)
      val total = own + added
      // a shift that loses digits returns 0, and neither operand is 0; an addition overflows if the
      // total has another sign than both operands
      if (large != null || added == 0L || own == 0L || ((own ^ total) & (added ^ total)) < 0L)
        addLarge(BigInteger.valueOf(digits), power)
      else {
        small = total
        exponent = math.min(exponent, power)
        normalize()
      }
    }

  /** `digits · 2^shift`, or 0 if that overflows a long. */
  private def shifted(digits: Long, shift: Int): Long =
    if (shift < 64 && (digits << shift) >> shift == digits) digits << shift else 0L

  /** Adds `digits · 2^power`. */
  private def addLarge(digits: BigInteger, power: Int): Unit = {
    val own = mantissa
    if (own.signum == 0) { large = digits; exponent = power }
    else {
      val shift = power - exponent
      large = if (shift >= 0) own.add(digits.shiftLeft(shift)) else own.shiftLeft(-shift).add(digits)
      exponent = math.min(exponent, power)
    }
    normalize()
  }

  /** Removes trailing zeros behind the binary point and uses a long if the mantissa fits one. 0 has
    * the exponent 0.
    */
  private def normalize(): Unit = {
    if (large != null) {
      val zeros = if (exponent < 0 && large.signum != 0) math.min(large.getLowestSetBit, -exponent) else 0
      if (zeros > 0) { large = large.shiftRight(zeros); exponent += zeros }
      if (large.bitLength < 64) { small = large.longValue; large = null }
    } else if (exponent < 0 && small != 0L) {
      val zeros = math.min(java.lang.Long.numberOfTrailingZeros(small), -exponent)
      small >>= zeros
      exponent += zeros
    }
    if (isZero) exponent = 0
  }

  /** The sum, which must be an integer. */
  def toBigInteger: BigInteger = {
    require(exponent >= 0, "the sum is no integer")
    mantissa.shiftLeft(exponent)
  }

  /** The nearest double, ties to even; infinite if the sum exceeds the range of a double. */
  def toDouble: Double =
    if (large == null && math.abs(small) < (1L << 62)) Math.scalb(small.toDouble, exponent)
    else signed(ExactSum.nearest(mantissa.abs, isMore = false, exponent))

  /** The nearest double to the sum divided by `number`, which must not be 0. Rounded once, ties to
    * even.
    */
  def dividedBy(number: Long): Double =
    if (large == null && exponent == 0 && isExact(small) && isExact(number)) small.toDouble / number.toDouble
    else {
      val divisor = BigInteger.valueOf(number).abs
      // the quotient gets 62 digits at least, more than a double has; of the remainder it matters
      // only whether it is 0
      val shift = math.max(0, 62 - mantissa.abs.bitLength + divisor.bitLength)
      val quotientAndRest = mantissa.abs.shiftLeft(shift).divideAndRemainder(divisor)
      val nearest = signed(ExactSum.nearest(quotientAndRest(0), quotientAndRest(1).signum != 0, exponent - shift))
      if (number < 0) -nearest else nearest
    }

  /** Whether the integer is exactly a double. */
  private def isExact(integer: Long): Boolean = math.abs(integer) <= (1L << 53) && integer != Long.MinValue

  /** The magnitude with the sign of the sum. */
  private def signed(magnitude: Double): Double = if (mantissa.signum < 0) -magnitude else magnitude

  /** The digits of the sum, as a `BigInteger` also while they are a long. */
  private def mantissa: BigInteger = if (large == null) BigInteger.valueOf(small) else large

  /** Serializes the sum: the exponent, the mantissa's length in bytes (0: a long), the mantissa.
    * Equal sums of doubles may have different bytes: 2.0 is 1 · 2^1, and 1.0 + 1.0 is 2 · 2^0.
    */
  def write(out: DataOutput): Unit = {
    out.writeShort(exponent)
    if (large == null) { out.writeShort(0); out.writeLong(small) }
    else {
      val bytes = large.toByteArray
      out.writeShort(bytes.length)
      out.write(bytes)
    }
  }
}

object ExactSum {

  /** The nearest double to `digits · 2^exponent`, ties to even; infinite if it exceeds the range of
    * a double.
    *
    * @param isMore the exact number is larger, by less than `2^exponent`; `digits` then has more
    *     digits than a double
    */
  private def nearest(digits: BigInteger, isMore: Boolean, exponent: Int): Double = {
    // the exponent of the last digit that a double of this magnitude has
    val last = math.max(exponent + digits.bitLength - 53, -1074)
    val cut = last - exponent
    if (cut <= 0) Math.scalb(digits.doubleValue, exponent)
    else {
      val kept = digits.shiftRight(cut).longValue
      val isHalfOrMore = digits.testBit(cut - 1)
      val isMoreThanHalf = isMore || digits.getLowestSetBit < cut - 1
      val up = isHalfOrMore && (isMoreThanHalf || (kept & 1L) == 1L)
      Math.scalb((if (up) kept + 1L else kept).toDouble, last)
    }
  }

  /** Deserializes a sum; that of an earlier release may have zeros behind the binary point. */
  def read(in: DataInput): ExactSum = {
    val exponent = in.readShort().toInt
    val length = in.readUnsignedShort()
    val sum = new ExactSum
    if (length == 0) sum.add(in.readLong(), exponent, 1L)
    else {
      val bytes = new Array[Byte](length)
      in.readFully(bytes)
      sum.addLarge(new BigInteger(bytes), exponent)
    }
    sum
  }
}
