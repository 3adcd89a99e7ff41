package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{KeyIndex, PagedWords, TupleArena}

/** An element of a ring per pair of keys: a sparse matrix. A pair whose element stands for no
  * result is not stored.
  * {{{
  * elements.add(y, x, summand)        // (y, x) → its element + summand
  * elements.addTo(sum, y, x)          // sum + the element of (y, x), if there is one
  * }}}
  * Cost: one probe. Memory: about six words and an element per stored pair.
  */
final private[reduce] class PairElements(ring: Ring) {
  private[this] var pairs: TupleArena = null
  private[this] var index: KeyIndex = null
  private[this] val elements = new PagedWords(ring.width)
  clear()

  /** The number of stored pairs. */
  def size: Int = index.size

  /** Adds `summand` to the element of a pair. */
  def add(first: Int, second: Int, summand: Array[Long]): Unit = {
    val before = index.size
    val pair = index.findOrAdd(PairElements.pack(first, second))
    elements.reserve(pair)
    val (page, at) = (elements.page(pair), elements.at(pair))
    if (index.size > before) index.retain(pair)
    ring.add(page, at, summand, 0)
    if (ring.isEmpty(page, at)) {
      java.util.Arrays.fill(page, at, at + ring.width, 0L) // no rounding residue may remain
      val _ = index.release(pair)
    }
  }

  /** Adds the element of a pair to the one at the beginning of `into`. */
  def addTo(into: Array[Long], first: Int, second: Int): Unit = {
    val pair = index.find(PairElements.pack(first, second))
    if (pair >= 0) ring.add(into, 0, elements.page(pair), elements.at(pair))
  }

  /** Removes all pairs. */
  def clear(): Unit = {
    pairs = new TupleArena(1)
    index = new KeyIndex(pairs, 1, counted = true)
    elements.clear()
  }

  /** Heap held. */
  def bytes: Long = pairs.bytes + index.bytes + elements.bytes
}

private object PairElements {
  def pack(first: Int, second: Int): Long = first.toLong << 32 | second & 0xffffffffL
}
