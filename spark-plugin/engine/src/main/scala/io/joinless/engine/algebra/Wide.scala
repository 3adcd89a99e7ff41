package io.joinless.engine.algebra

/** A number from 0 to 2^127 − 1: how many results there are, or the position of one. Operations
  * change it in place.
  *
  * Numbers of results exceed 64 bits soon: a star of six relations over half a million edges has
  * 8 · 10^18. In arrays a number is two words, the lower one first.
  *
  * @throws CountOverflow from `add` and `multiply`
  */
final class Wide(private[this] var upper: Long = 0L, private[this] var lower: Long = 0L) {

  def high: Long = upper
  def low: Long = lower

  def set(high: Long, low: Long): Unit = {
    upper = high
    lower = low
  }

  /** Sets a number from 0 on. */
  def set(n: Long): Unit = set(0L, n)
  def set(other: Wide): Unit = set(other.high, other.low)

  /** Reads two words of an array. */
  def read(words: Array[Long], at: Int): Unit = set(words(at + 1), words(at))

  /** Writes the number to two words of an array, the lower one first. */
  def write(words: Array[Long], at: Int): Unit = {
    words(at) = lower
    words(at + 1) = upper
  }

  def isZero: Boolean = (upper | lower) == 0L

  /** −1, 0 or 1, if this number is smaller than, equal to, or greater than the other one. */
  def compare(other: Wide): Int = Wide.compare(upper, lower, other.high, other.low)

  def add(other: Wide): Unit = add(other.high, other.low)

  /** Adds `high · 2^64 + low`; `low` is unsigned, as are all lower words. */
  def add(high: Long, low: Long): Unit = {
    val sum = lower + low
    val carry = if (java.lang.Long.compareUnsigned(sum, low) < 0) 1L else 0L
    upper = upper + high + carry
    lower = sum
    if (upper < 0L) throw new CountOverflow
  }

  /** Subtracts a number that is not greater than this one. */
  def subtract(other: Wide): Unit = {
    val borrow = if (java.lang.Long.compareUnsigned(lower, other.low) < 0) 1L else 0L
    upper = upper - other.high - borrow
    lower -= other.low
  }

  def multiply(other: Wide): Unit = multiply(other.high, other.low)

  /** Multiplies by a number from 0 on. */
  def multiply(n: Long): Unit = multiply(0L, n)

  /** Multiplies by `high · 2^64 + low`. Words suffice up to 126 bits; close to the limit the
    * product is computed exactly, and beyond it not at all.
    */
  def multiply(high: Long, low: Long): Unit =
    if ((upper | high) == 0L) {
      set(Wide.multiplyHigh(lower, low), lower * low)
      if (upper < 0L) throw new CountOverflow
    } else if (Wide.bits(upper, lower) + Wide.bits(high, low) > 128) throw new CountOverflow
    else if (Wide.bits(upper, lower) + Wide.bits(high, low) > 126) setExactly(toBigInt * Wide.bigInt(high, low))
    else set(Wide.multiplyHigh(lower, low) + upper * low + lower * high, lower * low)

  /** Divides by a number that is not 0: this becomes the quotient, `remainder` the rest. */
  def divide(divisor: Wide, remainder: Wide): Unit =
    if ((upper | divisor.high) == 0L) {
      remainder.set(java.lang.Long.remainderUnsigned(lower, divisor.low))
      set(java.lang.Long.divideUnsigned(lower, divisor.low))
    } else {
      val (quotient, rest) = toBigInt /% divisor.toBigInt
      remainder.setExactly(rest)
      setExactly(quotient)
    }

  def toBigInt: BigInt = Wide.bigInt(upper, lower)

  def toDouble: Double = upper * Wide.Two64 + (lower >>> 1) * 2.0 + (lower & 1L)

  /** Sets a number from 0 on; throws [[CountOverflow]] beyond 127 bits. */
  private[algebra] def setExactly(n: BigInt): Unit = {
    if (n.bitLength > 127) throw new CountOverflow
    set((n >> 64).toLong, n.toLong)
  }

  override def toString: String = toBigInt.toString
}

object Wide {
  final private val Two64 = 18446744073709551616.0

  def apply(n: Long): Wide = new Wide(0L, n)

  def apply(n: BigInt): Wide = {
    val wide = new Wide
    wide.setExactly(n)
    wide
  }

  /** Compares two numbers of two words each: negative, 0 or positive as the first is smaller, equal
    * or greater.
    */
  def compare(high: Long, low: Long, otherHigh: Long, otherLow: Long): Int =
    if (high != otherHigh) java.lang.Long.compare(high, otherHigh) else java.lang.Long.compareUnsigned(low, otherLow)

  /** Compares two numbers in an array, at the indexes of their lower words. */
  def compare(words: Array[Long], at: Int, otherAt: Int): Int =
    compare(words(at + 1), words(at), words(otherAt + 1), words(otherAt))

  /** The upper word of the product of two words without a sign. */
  def multiplyHigh(a: Long, b: Long): Long = Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a)

  /** The number of bits of a number without leading zeros. */
  private[algebra] def bits(high: Long, low: Long): Int =
    if (high != 0L) 128 - java.lang.Long.numberOfLeadingZeros(high) else 64 - java.lang.Long.numberOfLeadingZeros(low)

  /** The number of two words: `high` has the sign, `low` is unsigned. */
  private[algebra] def bigInt(high: Long, low: Long): BigInt =
    (BigInt(high) << 64) + (BigInt(low >>> 1) << 1) + (low & 1L)
}

/** The number of results does not fit 127 bits. The computation under way must be abandoned. */
final class CountOverflow extends RuntimeException("the number of results does not fit 127 bits")
