package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{IntStack, PagedInts, PagedWords}

/** An element of a ring per key, and what a pending batch adds to each: a ''net buffer'', so that a key is told once per batch,
  * however many rows under it change.
  *
  * A key without a result has the element 0. Memory: `width` words and an int per key, and `width` words per key that a batch touches.
  */
final private[reduce] class KeySums(ring: Ring) {
  private[this] val width = ring.width
  private[this] val sums = new PagedWords(width)
  private[this] val places = new PagedInts // key -> 1 + its place among the touched
  private[this] val keys = new IntStack
  private[this] val changes = new PagedWords(width)

  /** How many results stand behind a key. */
  def count(key: Int): Long = sums.head(key)

  /** The array with the key's element, which lies there at `at(key)`. The key has one, or had. */
  def page(key: Int): Array[Long] = sums.page(key)

  def at(key: Int): Int = sums.at(key)

  /** Keys that the pending batch touches. */
  def touched: Int = keys.size

  def key(i: Int): Int = keys(i)

  /** Adds to what the batch changes at a key; true where the key was untouched so far. */
  def add(key: Int, summand: Array[Long]): Boolean = {
    var place = places(key) - 1
    val first = place < 0
    if (first) {
      place = keys.size
      keys.push(key)
      places(key) = place + 1
      changes.reserve(place)
      java.util.Arrays.fill(changes.page(place), changes.at(place), changes.at(place) + width, 0L)
    }
    ring.add(changes.page(place), changes.at(place), summand, 0)
    first
  }

  /** What the batch changes at the i-th touched key. */
  def readChange(i: Int, into: Array[Long]): Unit =
    System.arraycopy(changes.page(i), changes.at(i), into, 0, width)

  /** The element of a key. */
  def read(key: Int, into: Array[Long]): Unit = {
    sums.reserve(key)
    System.arraycopy(sums.page(key), sums.at(key), into, 0, width)
  }

  /** Adds what the batch changes at the i-th touched key to the key's element. */
  def settle(i: Int): Unit = {
    val key = keys(i)
    sums.reserve(key)
    val (page, at) = (sums.page(key), sums.at(key))
    ring.add(page, at, changes.page(i), changes.at(i))
    // no result is left: nor must be what rounding left of it
    if (page(at) == 0L) java.util.Arrays.fill(page, at, at + width, 0L)
    places(key) = 0
  }

  /** All touched keys are settled. */
  def clear(): Unit = keys.clear()

  def bytes: Long = sums.bytes + places.bytes + keys.bytes + changes.bytes
}
