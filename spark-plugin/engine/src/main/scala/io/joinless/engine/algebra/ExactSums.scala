package io.joinless.engine.algebra

/** A ring of several sums and the number of results. Each sum adds up products of whole numbers.
  * Layout: the number of results `n`, then a fixed number of words per sum, low words first.
  *
  * Sums are added and multiplied independently of each other. A row is lifted to one factor per
  * sum: its own factor if the sum has one of the row's relation, else 1 (algorithms A51). A sum is
  * kept modulo 2^(64 · words), with a sign. So no intermediate value can overflow, and a sum is
  * right whenever its final value fits its words. The number of results fails if it does not fit
  * one word ([[WeightOverflow]]).
  *
  * @param words per sum; `ExactSums.words` computes how many are enough
  */
final class ExactSums(words: Array[Int]) extends Ring {
  private[this] val starts = words.scanLeft(1)(_ + _)
  private[this] val longest = words.foldLeft(1)(math.max)
  private[this] val left = new Array[Long](longest)
  private[this] val right = new Array[Long](longest)

  override val width: Int = starts.last

  /** The word of an element at which a sum begins. */
  def start(sum: Int): Int = starts(sum)

  /** Sets the number of results to 1, and every sum to 1, the neutral factor. */
  override def one(into: Array[Long]): Unit = {
    java.util.Arrays.fill(into, 0, width, 0L)
    into(0) = 1L
    var s = 0
    while (s < words.length) { into(starts(s)) = 1L; s += 1 }
  }

  /** Adds the numbers of results, and each pair of sums word by word with a carry. The carry out of
    * a sum's last word is dropped: sums are kept modulo 2^(64 · words).
    */
  override def add(into: Array[Long], at: Int, summand: Array[Long], from: Int): Unit = {
    into(at) = Weight.add(into(at), summand(from))
    var s = 0
    while (s < words.length) {
      val end = starts(s + 1)
      var carry = 0L
      var i = starts(s)
      while (i < end) {
        val a = into(at + i)
        val b = summand(from + i)
        val sum = a + b + carry
        // the carry is the topmost bit of at least two of the three operands
        carry = ((a & b) | ((a | b) & ~sum)) >>> 63
        into(at + i) = sum
        i += 1
      }
      s += 1
    }
  }

  /** Multiplies the number of results by that of the factor, and each sum by the factor's same sum.
    */
  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit = {
    into(0) = Weight.multiply(into(0), factor(from))
    var s = 0
    while (s < words.length) {
      System.arraycopy(factor, from + starts(s), right, 0, words(s))
      multiplyRight(into, s)
      s += 1
    }
  }

  /** Multiplies the number of results and each sum by `times`. */
  override def scale(into: Array[Long], times: Long): Unit = {
    into(0) = Weight.multiply(into(0), times)
    var s = 0
    while (s < words.length) { multiplySum(into, s, times, times >> 63); s += 1 }
  }

  /** Multiplies one sum of an element by the signed number `high · 2^64 + low`, `low` unsigned. For
    * a sum of one word, which is kept modulo 2^64, `low` is enough.
    */
  def multiplySum(into: Array[Long], sum: Int, low: Long, high: Long): Unit = {
    right(0) = low
    var i = 1
    while (i < words(sum)) { right(i) = if (i == 1) high else high >> 63; i += 1 }
    multiplyRight(into, sum)
  }

  /** Multiplies one sum of an element by the number in `right`, which has as many words: modulo
    * 2^(64 · words), where signs need no special case.
    */
  private def multiplyRight(into: Array[Long], sum: Int): Unit = {
    val at = starts(sum)
    words(sum) match {
      case 1 => into(at) *= right(0)
      case 2 =>
        val a = into(at)
        val b = right(0)
        into(at + 1) = ExactSums.high(a, b) + a * right(1) + into(at + 1) * b
        into(at) = a * b
      case n =>
        System.arraycopy(into, at, left, 0, n)
        java.util.Arrays.fill(into, at, at + n, 0L)
        var i = 0
        while (i < n) {
          var carry = 0L
          var j = 0
          while (i + j < n) {
            val low = left(i) * right(j)
            val high = ExactSums.high(left(i), right(j))
            // the product's lower half + carry + the word so far; both additions can carry
            val plusCarry = low + carry
            val carryOne = if (java.lang.Long.compareUnsigned(plusCarry, low) < 0) 1L else 0L
            val plusWord = into(at + i + j) + plusCarry
            val carryTwo = if (java.lang.Long.compareUnsigned(plusWord, plusCarry) < 0) 1L else 0L
            into(at + i + j) = plusWord
            carry = high + carryOne + carryTwo
            j += 1
          }
          i += 1
        }
    }
  }
}

object ExactSums {

  /** The number of words for a sum of as many numbers as a `Long` can count, and for the difference
    * of two such sums.
    *
    * @param bits of the largest magnitude of a number
    */
  def words(bits: Int): Int = (bits + 63 + 2 + 63) / 64

  /** The upper half of the product of two unsigned numbers. */
  private def high(a: Long, b: Long): Long = Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a)
}
