package io.joinless.engine.update

import java.util.Arrays

import io.joinless.engine.tuples.{KeyIndex, Words}
import io.joinless.engine.view.RowStore

/** Changes of rows that wait to be looked up in groups, so that the reads of several rows from memory overlap: what one look-up needs
  * depends on what it read before, what the next row's needs does not.
  *
  * A group is read through three times: for its slots in the index of rows, then for the rows that are likely meant and their counts,
  * then in earnest, when all of that is near.
  */
final private[update] class GroupedLookups(store: RowStore, look: GroupedLookups.Look) {
  import GroupedLookups._

  private[this] var waiting = 0
  private[this] val inputs = new Array[Int](GroupSize)
  private[this] val roles = new Array[Long](GroupSize)
  private[this] val weights = new Array[Long](GroupSize)
  private[this] val hashes = new Array[Int](GroupSize)
  private[this] val starts = new Array[Int](GroupSize + 1)
  private[this] val likely = new Array[Int](GroupSize)
  private[this] var words = new Array[Long](4 * GroupSize)
  private[this] var read = 0L // of what was read ahead, so that it is not left out

  def add(input: Int, roles: Long, weight: Long, row: Array[Long], count: Int): Unit =
    if (count > LongRow) {
      complete()
      look(store.identity(input).findOrAdd(row, count), roles, weight)
    } else {
      val start = starts(waiting)
      if (start + count > words.length) words = Arrays.copyOf(words, math.max(2 * words.length, start + count))
      Words.copy(row, 0, words, start, count)
      inputs(waiting) = input
      this.roles(waiting) = roles
      weights(waiting) = weight
      hashes(waiting) = KeyIndex.hash(words, start, count)
      waiting += 1
      starts(waiting) = start + count
      if (waiting == GroupSize) complete()
    }

  /** Looks up what waits. */
  def complete(): Unit = if (waiting > 0) {
    readAhead()
    var i = 0
    while (i < waiting) {
      val row = store.identity(inputs(i)).findOrAdd(hashes(i), words, starts(i), starts(i + 1) - starts(i))
      look(row, roles(i), weights(i))
      i += 1
    }
    waiting = 0
  }

  private def readAhead(): Unit = {
    var i = 0
    while (i < waiting) {
      likely(i) = store.identity(inputs(i)).likely(hashes(i))
      i += 1
    }
    var seen = 0L
    i = 0
    while (i < waiting) {
      val row = likely(i)
      if (row >= 0) {
        val arena = store.arena(inputs(i))
        seen += arena.page(row)(arena.start(row)) +
          store.multiplicity(java.lang.Long.numberOfTrailingZeros(roles(i)), row)
      }
      i += 1
    }
    read += seen
  }
}

private[update] object GroupedLookups {
  final val GroupSize = 32
  final val LongRow = 1024 // words; a longer row is looked up at once, so that little memory waits

  /** Takes a row that was found or added. */
  trait Look {
    def apply(row: Int, roles: Long, weight: Long): Unit
  }
}
