package io.joinless.engine.algebra

/** Several sums beside the number of results, each of products of whole numbers: `n`, then per sum a fixed number of words, low words first.
  *
  * Sums add and multiply by themselves: what a row is lifted to is, for each sum, its factor where the sum has one of its relation, and 1
  * elsewhere (algorithms A51). A sum is kept modulo 2^(64 · words), with a sign. So nothing that happens on the way can overflow, and a
  * sum is right where it fits its words itself; the number of results fails where it does not fit one ([[WeightOverflow]]).
  *
  * @param words per sum: `ExactSums.words` says how many are enough
  */
final class ExactSums(words: Array[Int]) extends Ring {
  private[this] val starts = words.scanLeft(1)(_ + _)
  private[this] val longest = words.foldLeft(1)(math.max)
  private[this] val left = new Array[Long](longest)
  private[this] val right = new Array[Long](longest)

  override val width: Int = starts.last

  /** Where a sum begins in an element. */
  def start(sum: Int): Int = starts(sum)

  override def one(into: Array[Long]): Unit = {
    java.util.Arrays.fill(into, 0, width, 0L)
    into(0) = 1L
    var s = 0
    while (s < words.length) { into(starts(s)) = 1L; s += 1 }
  }

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
        // the carry is the topmost bit of at least two of the three
        carry = ((a & b) | ((a | b) & ~sum)) >>> 63
        into(at + i) = sum
        i += 1
      }
      s += 1
    }
  }

  override def multiply(into: Array[Long], factor: Array[Long], from: Int): Unit = {
    into(0) = Weight.multiply(into(0), factor(from))
    var s = 0
    while (s < words.length) {
      System.arraycopy(factor, from + starts(s), right, 0, words(s))
      multiplyRight(into, s)
      s += 1
    }
  }

  override def scale(into: Array[Long], times: Long): Unit = {
    into(0) = Weight.multiply(into(0), times)
    var s = 0
    while (s < words.length) { multiplySum(into, s, times, times >> 63); s += 1 }
  }

  /** Multiplies one sum of an element with a number of 128 bits. */
  def multiplySum(into: Array[Long], sum: Int, low: Long, high: Long): Unit = {
    right(0) = low
    var i = 1
    while (i < words(sum)) { right(i) = if (i == 1) high else high >> 63; i += 1 }
    multiplyRight(into, sum)
  }

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
            val first = low + carry
            val one = if (java.lang.Long.compareUnsigned(first, low) < 0) 1L else 0L
            val second = into(at + i + j) + first
            val other = if (java.lang.Long.compareUnsigned(second, first) < 0) 1L else 0L
            into(at + i + j) = second
            carry = high + one + other
            j += 1
          }
          i += 1
        }
    }
  }
}

object ExactSums {

  /** Words for a sum of as many numbers as a `Long` can count, and for the difference of two such sums.
    *
    * @param bits of the largest magnitude of a number
    */
  def words(bits: Int): Int = (bits + 63 + 2 + 63) / 64

  /** The upper half of the product of two numbers without sign. */
  private def high(a: Long, b: Long): Long = Math.multiplyHigh(a, b) + ((a >> 63) & b) + ((b >> 63) & a)
}
