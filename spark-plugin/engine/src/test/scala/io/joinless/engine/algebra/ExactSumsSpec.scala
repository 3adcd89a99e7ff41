package io.joinless.engine.algebra

import java.math.BigInteger

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

/** Sums of several words against unbounded integers. */
class ExactSumsSpec extends AnyFunSuite {
  private val words = Array(1, 2, 3, 2, 5)
  private val ring = new ExactSums(words)

  private def number(words: Seq[Long]): BigInteger =
    words.zipWithIndex.map { case (word, i) =>
      val digits = BigInteger.valueOf(word)
      (if (i == words.size - 1) digits else digits.and(ExactSumsSpec.Word)).shiftLeft(64 * i)
    }.reduce(_.add(_))

  private def value(element: Array[Long], sum: Int): BigInteger =
    number(element.slice(ring.start(sum), ring.start(sum) + words(sum)).toSeq)

  /** A number reduced to the words of a sum, with the sign of its topmost bit. */
  private def wrapped(n: BigInteger, sum: Int): BigInteger = {
    val bits = 64 * words(sum)
    val low = n.mod(BigInteger.ONE.shiftLeft(bits))
    if (low.testBit(bits - 1)) low.subtract(BigInteger.ONE.shiftLeft(bits)) else low
  }

  private def random(r: Random): Array[Long] = {
    val special = Seq(0L, 1L, -1L, Long.MinValue, Long.MaxValue)
    val element = Array.fill(ring.width)(if (r.nextBoolean()) special(r.nextInt(special.size)) else r.nextLong())
    element(0) = r.nextInt(1000).toLong - 500
    element
  }

  test("sums add, multiply and scale as whole numbers do, but for what their words cannot hold") {
    val r = new Random(7)
    for (_ <- 0 until 20000) {
      val (a, b, c) = (random(r), random(r), random(r))
      val times = r.nextInt(9).toLong - 4
      val (added, multiplied, scaled, factored) = (a.clone, a.clone, a.clone, a.clone)
      ring.add(added, 0, b, 0)
      ring.multiply(multiplied, b, 0)
      ring.scale(scaled, times)
      assert(added(0) == a(0) + b(0) && multiplied(0) == a(0) * b(0) && scaled(0) == a(0) * times)
      for (s <- words.indices) {
        val (x, y) = (value(a, s), value(b, s))
        assert(value(added, s) == wrapped(x.add(y), s))
        assert(value(multiplied, s) == wrapped(x.multiply(y), s))
        assert(value(scaled, s) == wrapped(x.multiply(BigInteger.valueOf(times)), s))
        ring.multiplySum(factored, s, c(1), c(2))
        assert(value(factored, s) == wrapped(x.multiply(number(Seq(c(1), c(2)))), s))
      }
    }
  }

  test("a part of an array is added to, and the rest of it stays") {
    val target = Array.fill(ring.width + 4)(7L)
    val one = new Array[Long](ring.width)
    ring.one(one)
    assert(words.indices.forall(value(one, _) == BigInteger.ONE) && one(0) == 1L)
    ring.add(target, 2, one, 0)
    assert(target.take(2).forall(_ == 7L) && target.takeRight(2).forall(_ == 7L) && target(2) == 8L)
  }

  test("the words of a sum hold the difference of any two sums") {
    for (bits <- Seq(7, 15, 31, 63, 64, 87, 127, 254)) {
      val most = BigInteger.ONE.shiftLeft(bits).multiply(BigInteger.valueOf(Long.MaxValue)).shiftLeft(1)
      assert(most.bitLength < 64 * ExactSums.words(bits), bits)
    }
  }

  test("the number of results fails where it does not fit") {
    val element = new Array[Long](ring.width)
    ring.one(element)
    ring.scale(element, Long.MaxValue)
    intercept[WeightOverflow](ring.add(element.clone, 0, element, 0))
    intercept[WeightOverflow](ring.scale(element, 2L))
    intercept[WeightOverflow](ring.multiply(element.clone, element, 0))
  }
}

private object ExactSumsSpec {
  final val Word = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE)
}
