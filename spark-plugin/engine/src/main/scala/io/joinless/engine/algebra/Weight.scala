package io.joinless.engine.algebra

/** Exact arithmetic of weights: an overflow throws [[WeightOverflow]], so a count is never silently
  * wrong.
  */
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

/** A weight does not fit 64 bits. The computation under way, of a batch or a result, must be
  * abandoned.
  */
final class WeightOverflow(val term: String) extends RuntimeException(s"$term does not fit 64 bits")
