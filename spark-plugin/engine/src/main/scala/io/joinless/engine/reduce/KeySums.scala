package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{IntStack, PagedWords, Words}

/** An element of a ring per key, and what a pending batch adds to each: a ''net buffer'', so that a key is told once per batch,
  * however many rows under it change.
  *
  * A key without a result has the element 0. An element lies in the key's record, with a word behind it that says where the key stands
  * among the touched; sums of the same keys, as those of nodes that meet in one, share their records, so that a key is read in one place.
  * Memory: `KeySums.words` words per key, and `width` words per key that a batch touches.
  *
  * @param records with a place for `KeySums.words` words from `offset` on
  * @param once a batch adds to a key once at most: then the record has no word for that
  */
final private[reduce] class KeySums(ring: Ring, records: PagedWords, offset: Int, once: Boolean) {
  private[this] val width = ring.width
  private[this] val keys = new IntStack
  private[this] val changes = new PagedWords(width)

  /** How many results stand behind a key. */
  def count(key: Int): Long = records.word(key, offset)

  /** The array with the key's element, which lies there at `at(key)`. The key has one, or had. */
  def page(key: Int): Array[Long] = records.page(key)

  def at(key: Int): Int = records.at(key) + offset

  /** Keys that the pending batch touches. */
  def touched: Int = keys.size

  def key(i: Int): Int = keys(i)

  /** Adds to what the batch changes at a key. */
  def add(key: Int, summand: Array[Long]): Unit =
    if (once) touch(key, summand)
    else {
      records.reserve(key)
      val page = records.page(key)
      val touchedAt = at(key) + width
      val place = page(touchedAt).toInt - 1
      if (place < 0) {
        touch(key, summand)
        page(touchedAt) = keys.size
      } else ring.add(changes.page(place), changes.at(place), summand, 0)
    }

  private def touch(key: Int, summand: Array[Long]): Unit = {
    val place = keys.size
    keys.push(key)
    changes.reserve(place)
    Words.copy(summand, 0, changes.page(place), changes.at(place), width)
  }

  /** What the batch changes at the i-th touched key. */
  def readChange(i: Int, into: Array[Long]): Unit =
    Words.copy(changes.page(i), changes.at(i), into, 0, width)

  /** The element of a key. */
  def read(key: Int, into: Array[Long]): Unit = {
    records.reserve(key)
    Words.copy(page(key), at(key), into, 0, width)
  }

  /** Adds what the batch changes at the i-th touched key, which is read, to the key's element; how many results were behind it before. */
  def settle(i: Int, into: Array[Long]): Long = {
    readChange(i, into)
    val key = keys(i)
    records.reserve(key)
    val page = records.page(key)
    val at = this.at(key)
    val before = page(at)
    ring.add(page, at, into, 0)
    // no result is left: nor must be what rounding left of it
    if (page(at) == 0L) java.util.Arrays.fill(page, at, at + width, 0L)
    if (!once) page(at + width) = 0L
    before
  }

  /** All touched keys are settled. */
  def clear(): Unit = keys.clear()

  /** Records that are shared count once. */
  def bytes: Long = (if (offset == 0) records.bytes else 0L) + keys.bytes + changes.bytes
}

private[reduce] object KeySums {

  /** Words of a key's record. */
  def words(ring: Ring, once: Boolean): Int = if (once) ring.width else ring.width + 1
}
