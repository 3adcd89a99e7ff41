package io.joinless.engine.enumerate

import io.joinless.engine.view.ViewTree

/** The complete current result, row by row with constant delay, from the alive tuples of the root downwards
  * (algorithms A27).
  *
  * The tree must not change meanwhile.
  */
final class FullEnumeration(tree: ViewTree, residuals: IndexedSeq[Residual]) {
  private[this] val cursor = new Cursor(tree, residuals)
  cursor.startFull()

  /** Row id per relation; holds until the next call of `next`. */
  val rows: Array[Int] = cursor.tuples

  def next(): Boolean = cursor.next()

  /** Relations (bit set) whose row differs from that of the result before. */
  def changed: Long = cursor.changed

  /** How often the row occurs in the result. */
  def weight: Long = cursor.weight
}
