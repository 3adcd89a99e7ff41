package io.joinless.engine.enumerate

import io.joinless.engine.tuples.RecordLists

/** Results that differ in the row of one relation only. The first one is bound when the run is handed out.
  *
  * Their rows lie in records of `width` words behind each other, from `from` on: first the row, then what lies beside it
  * (`tuples.ShownWords`), of relations that have it. Where results come one by one, a run is one row: that of some relation that changed.
  * It holds until the next move of whoever handed it out.
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

  /** Where the records lie. */
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

  /** One result, with `words` words beside its row. */
  private[enumerate] def set(relation: Int, row: Int, places: Places, words: Int): Unit = {
    if (own.length <= words) own = new Array[Long](1 + words)
    own(0) = row
    var i = 0
    while (i < words) {
      own(1 + i) = places.pages(relation)(places.starts(relation) + i)
      i += 1
    }
    set(relation, own, 0, 1, 1 + words)
  }
}
