package io.joinless.engine.algebra

/** Arithmetic of weights: exact, or a [[WeightOverflow]]. A count is never silently wrong. */
object Weight {

  def add(a: Long, b: Long): Long =
    try Math.addExact(a, b)
    catch { case _: ArithmeticException => throw new WeightOverflow(s"$a + $b") }

  def subtract(a: Long, b: Long): Long =
    try Math.subtractExact(a, b)
    catch { case _: ArithmeticException => throw new WeightOverflow(s"$a - $b") }

  def multiply(a: Long, b: Long): Long =
    try Math.multiplyExact(a, b)
    catch { case _: ArithmeticException => throw new WeightOverflow(s"$a * $b") }
}

/** A weight does not fit 64 bits. What was being computed, a batch or a result, is to be given up. */
final class WeightOverflow(val term: String) extends RuntimeException(s"$term does not fit 64 bits")
