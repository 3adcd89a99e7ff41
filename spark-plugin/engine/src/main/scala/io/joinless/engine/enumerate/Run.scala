package io.joinless.engine.enumerate

import io.joinless.engine.tuples.RecordLists

/** Results that differ only in the row of one relation. The first one is bound when the run is
  * returned.
  *
  * Their rows lie in consecutive records of `width` words, from `from` on. A record is the row id,
  * then the words inlined with it (`tuples.InlinedWords`), if the relation has any. If results are
  * produced one by one, a run is one row: that of some relation that changed. A run is valid until
  * the next move of the cursor that returned it.
  */
final class Run {
  private[this] var of = 0
  private[this] var page: Array[Long] = null
  private[this] var first = 0
  private[this] var count = 0
  private[this] var stride = 1
  private[this] var own = new Array[Long](1)

  def relation: Int = of
  def size: Int = count

  /** The row of result `i`. */
  def row(i: Int): Int = RecordLists.tuple(page(first + i * stride))

  /** The array that holds the records. */
  def records: Array[Long] = page
  def from: Int = first
  def width: Int = stride

  private[enumerate] def set(relation: Int, records: Array[Long], from: Int, size: Int, width: Int): Unit = {
    of = relation
    page = records
    first = from
    count = size
    stride = width
  }

  /** Sets one result, with `words` words inlined with its row. */
  private[enumerate] def set(relation: Int, row: Int, pointers: WordPointers, words: Int): Unit = {
    if (own.length <= words) own = new Array[Long](1 + words)
    own(0) = row
    var i = 0
    while (i < words) {
      own(1 + i) = pointers.pages(relation)(pointers.starts(relation) + i)
      i += 1
    }
    set(relation, own, 0, 1, 1 + words)
  }
}
