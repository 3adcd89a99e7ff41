package io.joinless.engine.algebra

import org.scalacheck.{Gen, Prop, Properties, Test}

/** Numbers of two words against BigInt, at all sizes and around the borders of a word. */
object WideSpec extends Properties("Wide") {
  private val limit = BigInt(1) << 127
  private val numbers: Gen[BigInt] = for {
    bits <- Gen.choose(0, 127)
    exact <- Gen.choose(BigInt(0), (BigInt(1) << bits) - 1)
    near <- Gen.choose(-2, 2)
    number <- Gen.oneOf(exact, (BigInt(1) << bits) + near)
  } yield number.max(0).min(limit - 1)
  private val signed = for { n <- numbers; negative <- Gen.prob(0.5) } yield if (negative) -n else n

  override def overrideParameters(p: Test.Parameters): Test.Parameters =
    p.withMinSuccessfulTests(5000).withInitialSeed(49L)

  private def exactly(expected: BigInt)(computed: => BigInt): Boolean =
    try computed == expected && expected < limit && expected >= -limit
    catch { case _: CountOverflow => expected >= limit || expected < -limit }

  property("add and subtract") = Prop.forAll(numbers, numbers) { (a, b) =>
    val (sum, difference) = (Wide(a), Wide(a.max(b)))
    difference.subtract(Wide(a.min(b)))
    difference.toBigInt == (a - b).abs && exactly(a + b) { sum.add(Wide(b)); sum.toBigInt }
  }

  property("multiply") = Prop.forAll(numbers, numbers) { (a, b) =>
    exactly(a * b) { val product = Wide(a); product.multiply(Wide(b)); product.toBigInt }
  }

  property("divide") = Prop.forAll(numbers, numbers) { (a, b) =>
    val (quotient, remainder) = (Wide(a), new Wide)
    quotient.divide(Wide(b.max(1)), remainder)
    quotient.toBigInt == a / b.max(1) && remainder.toBigInt == a % b.max(1)
  }

  property("compare, arrays, doubles") = Prop.forAll(numbers, numbers) { (a, b) =>
    val words = new Array[Long](3)
    Wide(a).write(words, 1)
    val copy = new Wide
    copy.read(words, 1)
    copy.toBigInt == a && Wide(a).compare(Wide(b)) == a.compare(b) &&
    (Wide(a).toDouble - a.toDouble).abs <= a.toDouble * 1e-15
  }

  private def element(n: BigInt) = Array((n & ((BigInt(1) << 64) - 1)).toLong, (n >> 64).toLong)
  private def number(words: Array[Long]) = (BigInt(words(1)) << 64) + (BigInt(words(0) >>> 1) << 1) + (words(0) & 1L)

  property("the ring: sums of counts and of changes") = Prop.forAll(signed, signed) { (a, b) =>
    val sum = a + b
    WideCounts.signOfSum(element(a), 0, element(b), 0) == sum.signum || sum.abs >= limit
  } && Prop.forAll(signed, signed) { (a, b) =>
    exactly(a + b) { val into = element(a); WideCounts.add(into, 0, element(b), 0); number(into) }
  }

  property("the ring: products") = Prop.forAll(signed, signed) { (a, b) =>
    exactly(a * b) { val into = element(a); WideCounts.multiply(into, element(b), 0); number(into) }
  }

  property("the ring: multiples") = Prop.forAll(signed, Gen.long) { (a, n) =>
    exactly(a * n) { val into = element(a); WideCounts.scale(into, n); number(into) }
  }

  property("the ring: nothing is empty but 0") = Prop.forAll(signed) { a =>
    WideCounts.isEmpty(element(a), 0) == (a == 0) && { val one = element(a); WideCounts.one(one); number(one) == 1 }
  }
}
