package io.joinless.engine.algebra

/** A commutative ring whose elements are aggregated over the results of a join (algorithms A46). An
  * element is `width` words in an array.
  *
  * The first word, or the first two, are an integer that adds and multiplies as such: the number of
  * results that an element stands for. An element with the number 0 stands for no result, and is 0.
  * The other words belong to the ring: sums, or a matrix.
  *
  * Elements to be changed lie at the beginning of `into`, except for `add`.
  */
trait Ring {

  /** The number of words of an element. */
  def width: Int

  /** Whether the number of results in an element is 0. */
  def isEmpty(element: Array[Long], at: Int): Boolean = element(at) == 0L

  /** The sign of the number of results in the sum of two elements. */
  def signOfSum(element: Array[Long], at: Int, summand: Array[Long], from: Int): Int =
    java.lang.Long.signum(element(at) + summand(from))

  /** The element of a row that is counted only: the ring's one. */
  def one(into: Array[Long]): Unit

  /** Adds the element that begins at `summand(from)` to the one that begins at `into(at)`. */
  def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit

  /** Multiplies the element at the beginning of `into` by the one that begins at `factor(from)`. */
  def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit

  /** Multiplies an element by the number `times`; −1 gives the opposite. */
  def scale(into: Array[Long], times: Long): Unit

  /** The element of `times` rows that are counted only. */
  final def results(into: Array[Long], times: Long): Unit = { one(into); scale(into, times) }
}

/** The ring of integers: the number of results. */
object Counts extends Ring {
  override def width: Int = 1
  override def one(into: Array[Long]): Unit = into(0) = 1L
  override def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit =
    into(at) = Weight.add(into(at), summand(from))
  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit =
    into(0) = Weight.multiply(into(0), factor(from))
  override def scale(into: Array[Long], times: Long): Unit = into(0) = Weight.multiply(into(0), times)
}

/** The ring of integers of two words ([[Wide]]), the lower word first; negative ones are changes.
  * For blocks whose results exceed 64 bits.
  */
object WideCounts extends Ring {
  override def width: Int = 2

  override def isEmpty(element: Array[Long], at: Int): Boolean = (element(at) | element(at + 1)) == 0L

  override def signOfSum(element: Array[Long], at: Int, summand: Array[Long], from: Int): Int = {
    val low = element(at) + summand(from)
    val high = element(at + 1) + summand(from + 1) + carry(low, element(at))
    if (high != 0L) java.lang.Long.signum(high) else if (low != 0L) 1 else 0
  }

  /** The carry of a sum of lower words, of which `summand` is one. */
  private def carry(sum: Long, summand: Long): Long = if (java.lang.Long.compareUnsigned(sum, summand) < 0) 1L else 0L

  override def one(into: Array[Long]): Unit = { into(0) = 1L; into(1) = 0L }

  override def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit = {
    val low = into(at) + summand(from)
    val high = into(at + 1) + summand(from + 1) + carry(low, into(at))
    // both summands have the other sign
    if (((into(at + 1) ^ high) & (summand(from + 1) ^ high)) < 0L) throw new CountOverflow
    into(at) = low
    into(at + 1) = high
  }

  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit =
    multiply(into, factor(from + 1), factor(from))

  override def scale(into: Array[Long], times: Long): Unit = multiply(into, times >> 63, times)

  /** Multiplies the element at the beginning of `into` by the signed number `high · 2^64 + low`,
    * `low` unsigned. Only a product that may need more than 126 bits is checked exactly; one of
    * more than 127 throws [[CountOverflow]].
    */
  private def multiply(into: Array[Long], high: Long, low: Long): Unit = {
    val before = magnitude(into(1), into(0)) + magnitude(high, low)
    if (before > 126) {
      val product = Wide.bigInt(into(1), into(0)) * Wide.bigInt(high, low)
      if (product.bitLength > 127) throw new CountOverflow
    }
    val upper = Wide.multiplyHigh(into(0), low) + into(1) * low + into(0) * high
    into(0) = into(0) * low
    into(1) = upper
  }

  /** An upper bound of the bits of a number without its sign. */
  private def magnitude(high: Long, low: Long): Int =
    Wide.bits(high ^ high >> 63, low ^ high >> 63) + (high >>> 63).toInt
}
