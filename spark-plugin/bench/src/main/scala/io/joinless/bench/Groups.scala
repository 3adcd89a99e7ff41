package io.joinless.bench

import io.joinless.engine.tuples.{IntStack, KeyIndex, PagedWords, TupleArena}

/** Values per group, to which batches add: the consumer of results that are emitted as differences.
  *
  * A group whose first value is 0 at the end of a batch is removed.
  */
final class Groups(keyColumns: Int, width: Int) {
  private[this] val keys = new TupleArena(keyColumns)
  private[this] val index = new KeyIndex(keys, keyColumns, counted = true)
  // the group's values, and behind them 1 if the batch has touched the group
  private[this] val values = new PagedWords(width + 1)
  private[this] val olds = new PagedWords(width)
  private[this] val touched = new IntStack
  private[this] val before, after = new Array[Long](width)

  def add(key: Array[Long], change: Array[Long]): Unit = {
    val known = index.size
    val group = if (keyColumns == 1) index.findOrAdd(key(0)) else index.findOrAdd(key, keyColumns)
    if (index.size > known) index.retain(group)
    values.reserve(group)
    val page = values.page(group)
    val at = values.at(group)
    if (page(at + width) == 0L) {
      val index = touched.size
      touched.push(group)
      page(at + width) = 1L
      olds.reserve(index)
      copy(page, at, olds.page(index), olds.at(index))
    }
    add(page, at, change)
  }

  /** Adds numbers of one word; with several words, the words behind the first are one sum. */
  private def add(page: Array[Long], at: Int, change: Array[Long]): Unit = {
    page(at) += change(0)
    var carry = 0L
    var i = 1
    while (i < width) {
      val a = page(at + i)
      val sum = a + change(i) + carry
      carry = ((a & change(i)) | ((a | change(i)) & ~sum)) >>> 63
      page(at + i) = sum
      i += 1
    }
  }

  /** Passes the key's page and start of each touched group to `visit`, with its values before and
    * after the batch. Ends the batch.
    */
  def foreachTouched(visit: Groups.Visit): Unit = {
    var i = 0
    while (i < touched.size) {
      val group = touched(i)
      val page = values.page(group)
      val at = values.at(group)
      copy(olds.page(i), olds.at(i), before, 0)
      copy(page, at, after, 0)
      page(at + width) = 0L
      visit(keys.page(group), keys.start(group), before, after)
      if (after(0) == 0L) { val _ = index.release(group) }
      i += 1
    }
    touched.clear()
  }

  private def copy(from: Array[Long], at: Int, into: Array[Long], to: Int): Unit = {
    var i = 0
    while (i < width) { into(to + i) = from(at + i); i += 1 }
  }
}

object Groups {
  trait Visit {
    def apply(page: Array[Long], at: Int, before: Array[Long], after: Array[Long]): Unit
  }
}
