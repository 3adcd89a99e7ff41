package io.joinless.engine.enumerate

/** Results that differ in the row of one relation only: `page(from until until)` are its rows, in any order.
  *
  * Where results come one by one, a run is one row: that of some relation that changed. It holds until the next move of
  * whoever handed it out.
  */
final class Run {
  private[this] var of = 0
  private[this] var rows: Array[Int] = null
  private[this] var first = 0
  private[this] var end = 0

  def relation: Int = of
  def page: Array[Int] = rows
  def from: Int = first
  def until: Int = end
  def size: Int = end - first

  private[enumerate] def set(relation: Int, page: Array[Int], from: Int, until: Int): Unit = {
    of = relation
    rows = page
    first = from
    end = until
  }
}
