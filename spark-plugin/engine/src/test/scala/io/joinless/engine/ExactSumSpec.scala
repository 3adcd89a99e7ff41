package io.joinless.engine

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}
import java.math.{BigDecimal, BigInteger, MathContext, RoundingMode}

import scala.util.Random

import io.joinless.engine.algebra.ExactSum
import io.joinless.engine.oracle.Seeds
import org.scalatest.funsuite.AnyFunSuite

/** Sums against `BigDecimal`, which represents every double and long. */
class ExactSumSpec extends AnyFunSuite {

  private val seed = Seeds.of("ExactSumSpec")
  private val rng = new Random(seed)

  private def double(): Double = rng.nextInt(8) match {
    case 0 => rng.nextInt(100).toDouble
    case 1 => rng.nextInt(100000) / 100.0
    case 2 => rng.nextDouble() * 1e300
    case 3 =>
      // smaller than the smallest normal double
      java.lang.Double.longBitsToDouble(rng.nextLong() & 0xfffffffffffffL)
    case 4 => -rng.nextDouble()
    case 5 => if (rng.nextBoolean()) Double.MaxValue else -Double.MaxValue
    case 6 => if (rng.nextBoolean()) -0.0 else Double.MinPositiveValue
    case _ =>
      Iterator.continually(java.lang.Double.longBitsToDouble(rng.nextLong())).find(java.lang.Double.isFinite).get
  }

  private def weight(): Long = rng.nextInt(6) match {
    case 0 => -1L
    case 1 => rng.nextInt(1000) - 500L
    case 2 => rng.nextLong()
    case _ => 1L
  }

  private def written(sum: ExactSum): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    sum.write(new DataOutputStream(bytes))
    bytes.toByteArray
  }

  private def read(bytes: Array[Byte]): ExactSum = ExactSum.read(new DataInputStream(new ByteArrayInputStream(bytes)))

  private def copy(sum: ExactSum): ExactSum = read(written(sum))

  test("sums of doubles are the nearest double to the true sum, in every order, and go back to 0") {
    for (round <- 0 until 20000) {
      val parts = Seq.fill(rng.nextInt(12))((double(), weight()))
      val sums = Seq(new ExactSum, new ExactSum, new ExactSum)
      parts.foreach { case (x, w) => sums(0).add(x, w) }
      rng.shuffle(parts).foreach { case (x, w) => sums(1).add(x, w) }
      val (some, others) = parts.splitAt(parts.size / 2)
      val half = new ExactSum
      some.foreach { case (x, w) => half.add(x, w) }
      others.foreach { case (x, w) => sums(2).add(x, w) }
      sums(2).add(copy(half))
      val expected =
        parts.foldLeft(BigDecimal.ZERO) { case (sum, (x, w)) => sum.add(new BigDecimal(x).multiply(new BigDecimal(w))) }
      val nearest = java.lang.Double.parseDouble(expected.toString)
      sums.foreach(sum => assert(sum.toDouble == nearest, s"seed $seed, round $round: $parts"))
      parts.foreach { case (x, w) => sums(0).add(-x, w) }
      assert(sums(0).isZero && sums(0).toDouble == 0.0, s"seed $seed, round $round: $parts")
    }
  }

  test("sums of integers are exact beyond 64 bits") {
    for (round <- 0 until 20000) {
      val sum = new ExactSum
      var expected = BigInteger.ZERO
      for (_ <- 0 until rng.nextInt(12)) {
        val (value, w) = (new BigInteger(rng.nextInt(130), rng.self).subtract(new BigInteger(64, rng.self)), weight())
        if (value.bitLength < 64 && rng.nextBoolean()) sum.add(value.longValue, w) else sum.add(value, w)
        expected = expected.add(value.multiply(BigInteger.valueOf(w)))
        assert(copy(sum).toBigInteger == expected, s"seed $seed, round $round")
        assert(sum.toDouble == expected.doubleValue, s"seed $seed, round $round")
      }
    }
  }

  /** The double nearest to a quotient. The digits beyond those that a tie can have are
    * replaced by a 1 if any of them is not 0.
    */
  private def quotient(sum: BigDecimal, number: BigDecimal): Double = {
    val digits = sum.divide(number, new MathContext(800, RoundingMode.DOWN))
    val rest = digits.multiply(number).compareTo(sum) != 0
    val plain = if (rest) s"${digits.unscaledValue}1E${-digits.scale - 1}" else digits.toString
    java.lang.Double.parseDouble(plain)
  }

  test("quotients of sums are rounded once") {
    for (round <- 0 until 4000) {
      val sum = new ExactSum
      var expected = BigDecimal.ZERO
      val whole = rng.nextBoolean()
      for (_ <- 0 until 1 + rng.nextInt(6)) {
        val (x, integer, w) = (double(), rng.nextLong() >> rng.nextInt(63), weight())
        if (whole) sum.add(integer, w) else sum.add(x, w)
        expected = expected.add((if (whole) new BigDecimal(integer) else new BigDecimal(x)).multiply(new BigDecimal(w)))
      }
      val number = Iterator.continually(rng.nextInt(3) match {
        case 0 => 1L + rng.nextInt(9)
        case 1 => rng.nextLong() >>> (1 + rng.nextInt(62))
        case _ => weight()
      }).find(_ != 0L).get
      val nearest = quotient(expected, new BigDecimal(number))
      assert(sum.dividedBy(number) == nearest, s"seed $seed, round $round: $expected / $number")
    }
  }

  test("a quotient between two doubles is the even one, above and below it the near one") {
    def average(values: Long*): Double = {
      val sum = new ExactSum
      values.foreach(sum.add(_, 1L))
      sum.dividedBy(values.size.toLong)
    }
    val odd = (1L << 53) + 1
    assert(average(odd, odd, odd) == (1L << 53).toDouble)
    assert(average(odd, odd, odd + 1) == ((1L << 53) + 2).toDouble)
    assert(average(odd + 2, odd + 2) == ((1L << 53) + 4).toDouble)
    val least = new ExactSum
    least.add(Double.MinPositiveValue, 3L)
    assert(least.dividedBy(2L) == 2 * Double.MinPositiveValue && least.dividedBy(7L) == 0.0)
    val most = new ExactSum
    most.add(Double.MaxValue, 6L)
    assert(most.toDouble.isInfinite && most.dividedBy(6L) == Double.MaxValue && most.dividedBy(-6L) == -Double.MaxValue)
  }

  test("what is of no size stays small") {
    val sum = new ExactSum
    for (_ <- 0 until 1000; x <- Seq(0.1, 1e-300, 1e300, 7.0)) {
      sum.add(x, 3)
      sum.add(x, -3)
    }
    assert(sum.isZero && written(sum).length == 12)
  }

  test("a sum has no zeros behind the binary point, in however many steps it was added up") {
    val (once, twice) = (new ExactSum, new ExactSum)
    once.add(0.5, 2L)
    twice.add(0.5, 1L)
    twice.add(0.5, 1L)
    assert(once.toBigInteger == BigInteger.ONE && written(once).sameElements(written(twice)))
    // the first value as earlier releases wrote it: exponent −1, a long, 2
    assert(read(Array[Byte](-1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)).toBigInteger == BigInteger.ONE)
  }
}
