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
  private[this] var varying = 0 // the relation whose rows the run has
  private[this] var page: Array[Long] = null
  private[this] var first = 0
  private[this] var count = 0
  private[this] var stride = 1
  private[this] var single = new Array[Long](1) // the record of a run of one result

  def relation: Int = varying
  def size: Int = count

  /** The row of result `i`. */
  def row(i: Int): Int = RecordLists.tuple(page(first + i * stride))

  /** The array that holds the records. */
  def records: Array[Long] = page
  def from: Int = first
  def width: Int = stride

  private[enumerate] def set(relation: Int, records: Array[Long], from: Int, size: Int, width: Int): Unit = {
    varying = relation
    page = records
    first = from
    count = size
    stride = width
  }

  /** Sets one result, with `words` words inlined with its row. */
  private[enumerate] def set(relation: Int, row: Int, pointers: WordPointers, words: Int): Unit = {
    if (single.length <= words) single = new Array[Long](1 + words)
    single(0) = row
    var i = 0
    while (i < words) {
      single(1 + i) = pointers.pages(relation)(pointers.starts(relation) + i)
      i += 1
    }
    set(relation, single, 0, 1, 1 + words)
  }
}
