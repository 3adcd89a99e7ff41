package io.joinless.engine.enumerate

import io.joinless.engine.view.ViewTree

/** Enumerates the complete current result with constant delay, from the alive tuples of the root
  * downwards (algorithms A27).
  *
  * The tree must not change during the enumeration.
  */
final class FullEnumeration(tree: ViewTree, residuals: IndexedSeq[Residual]) extends Results {
  private[this] val cursor = new Cursor(tree, residuals)
  cursor.startFull()

  val rows: Array[Int] = cursor.tuples
  val pointers: WordPointers = cursor.pointers

  def next(): Boolean = cursor.next()

  def next(run: Run): Boolean = cursor.next() && { cursor.take(run, whole = true); true }

  def changed: Long = cursor.changed

  def weight: Long = cursor.weight
}
