package io.joinless.bench

import io.joinless.engine.tuples.{IntStack, KeyIndex, PagedInts, PagedWords, TupleArena}

/** Values per group, to which batches add: the consumer of results that are told in differences.
  *
  * A group whose first value is 0 at the end of a batch is forgotten.
  */
final class Groups(keyColumns: Int, width: Int) {
  private[this] val keys = new TupleArena(keyColumns)
  private[this] val index = new KeyIndex(keys, keyColumns, counted = true)
  private[this] val values = new PagedWords(width)
  private[this] val olds = new PagedWords(width)
  private[this] val places = new PagedInts // group -> 1 + its place among the touched
  private[this] val touched = new IntStack
  private[this] val before, after = new Array[Long](width)

  def add(key: Array[Long], change: Array[Long]): Unit = {
    val group = if (keyColumns == 1) index.findOrAdd(key(0)) else index.findOrAdd(key, keyColumns)
    values.reserve(group)
    val page = values.page(group)
    val at = values.at(group)
    if (places(group) == 0) {
      val place = touched.size
      touched.push(group)
      places(group) = place + 1
      index.retain(group)
      olds.reserve(place)
      System.arraycopy(page, at, olds.page(place), olds.at(place), width)
    }
    add(page, at, change)
  }

  /** Numbers of one word, and a sum of several behind the first. */
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

  /** Tells of each touched group its key's page and start, and its values before and after the batch, which is over then. */
  def foreachTouched(tell: Groups.Tell): Unit = {
    var i = 0
    while (i < touched.size) {
      val group = touched(i)
      System.arraycopy(olds.page(i), olds.at(i), before, 0, width)
      System.arraycopy(values.page(group), values.at(group), after, 0, width)
      tell(keys.page(group), keys.start(group), before, after)
      places(group) = 0
      if (before(0) == 0L && after(0) != 0L) index.retain(group)
      if (before(0) != 0L && after(0) == 0L) { val _ = index.release(group) }
      val _ = index.release(group)
      i += 1
    }
    touched.clear()
  }
}

object Groups {
  trait Tell {
    def apply(page: Array[Long], at: Int, before: Array[Long], after: Array[Long]): Unit
  }
}
