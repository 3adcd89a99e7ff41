package io.joinless.engine.sample

import java.util.SplittableRandom

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.PositionList

/** The random numbers of one batch: they follow from the seed alone, on every machine.
  *
  * The logarithms are those of StrictMath, since those of Math may differ in the last bit between
  * processors.
  */
final private[sample] class Draws(seed: Long) {
  private[this] val random = new SplittableRandom(seed)
  private[this] val scratch = new Wide

  /** The next greater one of the keys of `unseen` results, which are independent and uniform on
    * (from, 1): the least of them (algorithms A60). 1 if there is none.
    */
  def nextKey(from: Double, unseen: Wide): Double =
    if (unseen.isZero) 1.0
    else {
      // the least of m uniform numbers is 1 − U^(1/m)
      val least = -StrictMath.expm1(StrictMath.log(positive()) / unseen.toDouble)
      from + (1.0 - from) * least
    }

  /** The time of the next arrival after `from`, of any of `sources` that have arrivals at rate 1. */
  def nextArrival(from: Double, sources: Wide): Double = from - StrictMath.log(positive()) / sources.toDouble

  /** A uniform number of (0, 1]. */
  private def positive(): Double = 1.0 - random.nextDouble()

  /** A uniform position below `limit`, which is not 0. */
  def position(limit: Wide, into: Wide): Unit = {
    val bits = if (limit.high != 0L) 127 else 64
    val mask = Draws.mask(if (limit.high != 0L) limit.high else limit.low)
    do {
      if (bits == 64) into.set(0L, random.nextLong() & mask)
      else into.set(random.nextLong() & mask, random.nextLong())
    } while (into.compare(limit) >= 0)
  }

  /** Adds so many uniform positions below `limit` to a list; some may be equal. */
  def positions(count: Int, limit: Wide, into: PositionList): Unit = {
    var i = 0
    while (i < count) {
      position(limit, scratch)
      into.add(scratch)
      i += 1
    }
  }

  /** Keeps a uniform subset of a list's positions. */
  def choose(list: PositionList, count: Int): Unit = list.keep(subset(list.size, count))

  /** A uniform subset of the numbers from 0 to below `of`, in ascending order. */
  def subset(of: Int, count: Int): Array[Int] = {
    val chosen = new Array[Int](count)
    var (i, found) = (0, 0)
    while (found < count) { // each number by the chance that it is among those left
      if (random.nextInt(of - i) < count - found) { chosen(found) = i; found += 1 }
      i += 1
    }
    chosen
  }

  /** Puts the numbers in a random order. */
  def shuffle(numbers: Array[Double], count: Int): Unit = {
    var i = count - 1
    while (i > 0) {
      val j = random.nextInt(i + 1)
      val swap = numbers(i)
      numbers(i) = numbers(j)
      numbers(j) = swap
      i -= 1
    }
  }
}

private object Draws {

  /** All bits up to the highest one of a word. */
  private def mask(word: Long): Long = -1L >>> java.lang.Long.numberOfLeadingZeros(word)
}
