package io.joinless.engine.view

import io.joinless.engine.algebra.{Ring, Wide}
import io.joinless.engine.tuples.{IntStack, PagedWords, Words}

/** The annotation of a node's keys: an element of a ring per key, the sum over the results of the
  * join of the node's subtree under that key. Its first word is their number.
  *
  * The pending batch's change of each element is in a ''net buffer'', so that a key is propagated
  * once per batch, however many rows under it change.
  *
  * A key without a result has the element 0. An element lies in the key's record. The word behind
  * it is 1 + the key's index among the touched keys, or 0. Nodes that share their keys also share
  * their records, for example the children of one generalized node: so a key is read at one
  * address. Memory: `Annotation.words` words per key, and `width` words per key that a batch
  * touches.
  *
  * @param records with `Annotation.words` words for this node, from `offset` on
  * @param once a batch adds to a key at most once: the record then has no index word
  */
final private[engine] class Annotation(val ring: Ring, records: PagedWords, offset: Int, once: Boolean) {
  private[this] val width = ring.width
  private[this] val keys = new IntStack
  private[this] val changes = new PagedWords(width)

  /** The number of results under a key. */
  def count(key: Int): Long = records.word(key, offset)

  /** Whether there is no result under a key. */
  def isEmpty(key: Int): Boolean = !records.holds(key) || ring.isEmpty(page(key), at(key))

  /** The array that holds the key's element, from `at(key)` on. The key must have an element, or
    * have had one.
    */
  def page(key: Int): Array[Long] = records.page(key)

  def at(key: Int): Int = records.at(key) + offset

  /** The number of keys that the pending batch touches. */
  def touched: Int = keys.size

  def key(i: Int): Int = keys(i)

  /** Adds `summand` to the pending change of a key. */
  def add(key: Int, summand: Array[Long]): Unit =
    if (once) touch(key, summand)
    else {
      records.reserve(key)
      val page = records.page(key)
      val touchedAt = at(key) + width
      val index = page(touchedAt).toInt - 1
      if (index < 0) {
        touch(key, summand)
        page(touchedAt) = keys.size
      } else ring.add(changes.page(index), changes.at(index), summand, 0)
    }

  /** Appends a key to the touched ones, with its first change. */
  private def touch(key: Int, summand: Array[Long]): Unit = {
    val index = keys.size
    keys.push(key)
    changes.reserve(index)
    Words.copy(summand, 0, changes.page(index), changes.at(index), width)
  }

  /** Reads the pending change of the i-th touched key. */
  def readChange(i: Int, into: Array[Long]): Unit =
    Words.copy(changes.page(i), changes.at(i), into, 0, width)

  /** The sign of the number of results under the i-th touched key after its pending change. */
  def signAfter(i: Int): Int = {
    records.reserve(keys(i))
    ring.signOfSum(page(keys(i)), at(keys(i)), changes.page(i), changes.at(i))
  }

  /** The index of a key among the touched ones; −1 if the batch does not touch it. */
  def touchedIndex(key: Int): Int = records.word(key, offset + width).toInt - 1

  /** Reads the number of results under a key, where the elements are such numbers
    * ([[io.joinless.engine.algebra.WideCounts]]).
    */
  def readCount(key: Int, into: Wide): Unit = if (isEmpty(key)) into.set(0L) else into.read(page(key), at(key))

  /** Reads how many results more there are under the i-th touched key, where there are not fewer. */
  def readIncrease(i: Int, into: Wide): Unit = into.read(changes.page(i), changes.at(i))

  /** Reads the element of a key. */
  def read(key: Int, into: Array[Long]): Unit = {
    records.reserve(key)
    readPresent(key, into)
  }

  /** Reads the element of a key that has results. */
  def readPresent(key: Int, into: Array[Long]): Unit = Words.copy(page(key), at(key), into, 0, width)

  /** Reads the pending change of the i-th touched key into `into` and adds it to the key's element.
    * Returns the first word of the element before.
    *
    * @param keep the key stays a touched one, until `clear`
    */
  def applyChange(i: Int, into: Array[Long], keep: Boolean = false): Long = {
    readChange(i, into)
    val key = keys(i)
    records.reserve(key)
    val page = records.page(key)
    val at = this.at(key)
    val before = page(at)
    ring.add(page, at, into, 0)
    // no result remains, so no rounding residue may remain either
    if (ring.isEmpty(page, at)) java.util.Arrays.fill(page, at, at + width, 0L)
    if (!once && !keep) page(at + width) = 0L
    before
  }

  /** Applies all pending changes. */
  def applyAll(): Unit = {
    val change = new Array[Long](width)
    var i = 0
    while (i < keys.size) { val _ = applyChange(i, change); i += 1 }
    clear()
  }

  /** Resets the list of touched keys, after `applyChange` of each. */
  def clear(): Unit = keys.clear()

  /** As `clear`, after `applyChange` of each, which kept the key. */
  def clearKept(): Unit = {
    var i = 0
    while (i < keys.size) {
      records.page(keys(i))(at(keys(i)) + width) = 0L
      i += 1
    }
    keys.clear()
  }

  /** Heap held; shared records count once. */
  def bytes: Long = (if (offset == 0) records.bytes else 0L) + keys.bytes + changes.bytes
}

private[engine] object Annotation {

  /** The multiplicity of a key that counts once, however many results are under it. */
  def once(results: Long): Long = if (results > 0L) 1L else 0L

  def isZero(element: Array[Long]): Boolean = {
    var i = 0
    while (i < element.length) { if (element(i) != 0L) return false; i += 1 }
    true
  }

  /** The number of words of a key's record for one node. */
  def words(ring: Ring, once: Boolean): Int = if (once) ring.width else ring.width + 1
}
