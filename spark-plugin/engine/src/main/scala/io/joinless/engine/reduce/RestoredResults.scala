package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual

/** All results of a [[ReducedJoin]] that was just restored: its rows are one batch that is inserted
  * into an empty state.
  *
  * A result is a row of each component, with its ids in `rows`, and an element. A result may be
  * emitted several times; its elements then add up.
  */
final class RestoredResults(join: ReducedJoin, residuals: IndexedSeq[Residual] = IndexedSeq.empty) {
  private[this] val sums = ResultChanges(join, residuals)

  def rows: Array[Int] = sums.rows
  def element: Array[Long] = sums.element

  /** The components whose row differs from that of the previous result (bit set); for the first
    * result, all.
    */
  def changed: Long = sums.changed

  /** Moves to the next result; false after the last one. */
  def next(): Boolean = sums.next()

  /** Skips the remaining results. */
  def drain(): Unit = sums.drain()
}
