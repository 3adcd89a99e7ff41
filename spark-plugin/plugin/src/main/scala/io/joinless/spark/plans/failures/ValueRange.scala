package io.joinless.spark.plans.failures

import java.math.RoundingMode

/** The numbers from a least one to a greatest one, exactly: Scala's own arithmetic rounds to 34
  * digits.
  */
final private[plans] case class ValueRange(least: BigDecimal, most: BigDecimal) {
  import ValueRange.exactly

  def contains(that: ValueRange): Boolean = least <= that.least && that.most <= most
  def or(that: ValueRange): ValueRange = ValueRange(least.min(that.least), most.max(that.most))
  def +(that: ValueRange): ValueRange = of(least, that.least, most, that.most)(_.add(_))
  def -(that: ValueRange): ValueRange = of(least, that.most, most, that.least)(_.subtract(_))

  /** The products of two numbers of the ranges: the extremes are products of extremes. */
  def *(that: ValueRange): ValueRange = {
    val products = for (a <- Seq(least, most); b <- Seq(that.least, that.most)) yield exactly(a, b)(_.multiply(_))
    ValueRange(products.min, products.max)
  }

  /** With this many digits after the decimal point, as decimals are rounded. */
  def rounded(scale: Int): ValueRange = scaled(scale, RoundingMode.HALF_UP)

  /** Without the digits after the decimal point. */
  def cut: ValueRange = scaled(0, RoundingMode.DOWN)

  /** Both ends with this many digits after the decimal point. */
  private def scaled(scale: Int, mode: RoundingMode): ValueRange = {
    def of(x: BigDecimal) = BigDecimal.exact(x.bigDecimal.setScale(scale, mode))
    ValueRange(of(least), of(most))
  }

  /** The range from `op(a, b)` to `op(c, d)`. */
  private def of(a: BigDecimal, b: BigDecimal, c: BigDecimal, d: BigDecimal)(
      op: (java.math.BigDecimal, java.math.BigDecimal) => java.math.BigDecimal
  ): ValueRange = ValueRange(exactly(a, b)(op), exactly(c, d)(op))
}

private[plans] object ValueRange {

  /** The result of an operation without rounding. */
  private def exactly(a: BigDecimal, b: BigDecimal)(
      op: (java.math.BigDecimal, java.math.BigDecimal) => java.math.BigDecimal
  ): BigDecimal = BigDecimal.exact(op(a.bigDecimal, b.bigDecimal))
}
