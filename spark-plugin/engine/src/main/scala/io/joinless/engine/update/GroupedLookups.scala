package io.joinless.engine.update

import java.util.Arrays

import io.joinless.engine.tuples.{KeyIndex, Words}
import io.joinless.engine.view.RowStore

/** Row look-ups in prefetch groups, so that the memory reads of several rows overlap. The reads of
  * one look-up depend on each other; those of different rows do not.
  *
  * A prefetch group is read in three passes: first the slots in the index of rows, then the most
  * likely rows and their counts, then the look-ups proper, when all of that is cached.
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
  // the sum of prefetched words, so that the reads are not optimized away
  private[this] var read = 0L

  /** Adds the look-up of a row of `count` words. `look` gets the rows in the order of `add`, when
    * the group is full or complete.
    */
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

  /** Looks up the rows that wait. */
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

  /** The first two passes: reads the slot of each waiting row, then the most likely row and its
    * count. Wrong guesses cost time only: `complete` compares the rows.
    */
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
  // in words: a longer row is looked up at once, so that little memory is buffered
  final val LongRow = 1024

  /** Receives a row that was found or added. */
  trait Look {
    def apply(row: Int, roles: Long, weight: Long): Unit
  }
}
