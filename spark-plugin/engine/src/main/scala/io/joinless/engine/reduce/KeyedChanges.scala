package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{KeyIndex, PagedInts, PagedWords, TupleArena}

/** What a batch changes of totals: an element per pair of keys, with a row that has them.
  * {{{
  * changes.add(x, y, row, summand)
  * for (i <- 0 until changes.size) emit(changes.row(i), changes.read(i, element))
  * changes.clear()
  * }}}
  * Cost: one probe per `add`; memory for the pairs that a batch touches.
  */
final private[reduce] class KeyedChanges(ring: Ring) {
  private[this] var index: KeyIndex = null
  private[this] val elements = new PagedWords(ring.width)
  private[this] val rows = new PagedInts
  clear()

  /** The number of touched pairs. */
  def size: Int = index.size

  /** Adds `summand` to the change of a pair, which `row` has. */
  def add(first: Int, second: Int, row: Int, summand: Array[Long]): Unit = {
    val before = index.size
    val pair = index.findOrAdd(PairElements.pack(first, second))
    if (index.size > before) rows(pair) = row
    elements.reserve(pair)
    ring.add(elements.page(pair), elements.at(pair), summand, 0)
  }

  /** A row that has the i-th pair. */
  def row(i: Int): Int = rows(i)

  /** Reads the change of the i-th pair. */
  def read(i: Int, into: Array[Long]): Unit =
    System.arraycopy(elements.page(i), elements.at(i), into, 0, ring.width)

  /** Forgets all pairs. */
  def clear(): Unit = {
    index = new KeyIndex(new TupleArena(1), 1, counted = false)
    elements.clear()
  }
}
