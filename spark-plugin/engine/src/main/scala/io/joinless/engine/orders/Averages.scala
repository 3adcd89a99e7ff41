package io.joinless.engine.orders

/** Moving averages, each with a value in use that follows it with a delay. With the weight 0.04,
  * the ratio 1.5 and the patience 2:
  * {{{
  * observed     10     60     60     60     …
  * average      10     12     13.9   15.8
  * differs             no     no     yes          15.8 > 1.5 · 10: once; the next time it is used
  * in use       10     10     10     10     17.5
  * }}}
  * So a few walks in a row through unusual rows do not change an order. The first value that is
  * observed is used at once. Differences up to 0.4 do not count; a ratio to 0 is never computed.
  *
  * @param weight of an observed value in the average
  * @param ratio between the average and the value in use, above which they differ
  * @param patience how many observations must find that they differ, in a row or not, before the
  *     average is used; 0: every average is used at once
  */
final class Averages(size: Int, weight: Double, ratio: Double, patience: Int) {
  private[this] val averages = new Array[Double](size)
  private[this] val used = new Array[Double](size)
  private[this] val differences = Array.fill(size)(Averages.Never)

  /** Adds an observed value to the average `i`.
    *
    * @return whether the value in use has changed
    */
  def observe(i: Int, value: Double): Boolean =
    if (differences(i) == Averages.Never) {
      averages(i) = value
      use(i)
    } else {
      averages(i) += weight * (value - averages(i))
      if (patience == 0) use(i)
      else
        differs(averages(i), used(i)) && {
          differences(i) += 1
          differences(i) >= patience && use(i)
        }
    }

  /** The value in use; 0 before the first observation. */
  def inUse(i: Int): Double = used(i)

  /** The average of all observations. */
  def average(i: Int): Double = averages(i)

  /** Heap held. */
  def bytes: Long = 20L * size

  private def use(i: Int): Boolean = {
    val isNew = differences(i) == Averages.Never || averages(i) != used(i)
    differences(i) = 0
    used(i) = averages(i)
    isNew
  }

  private def differs(a: Double, b: Double): Boolean = {
    val (less, more) = (math.min(a, b), math.max(a, b))
    more - less > Averages.Negligible && more > ratio * less
  }
}

private object Averages {
  private val Never = -1
  private val Negligible = 0.4
}
