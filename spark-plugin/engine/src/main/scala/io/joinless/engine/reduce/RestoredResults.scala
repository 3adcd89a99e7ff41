package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual

/** All that a [[ReducedJoin]] which was just restored adds up to: its rows are one batch that came into an empty state.
  *
  * A result is a row of each component, its ids in `rows`, and what it counts for. It may come several times: then its elements are to
  * be added up.
  */
final class RestoredResults(join: ReducedJoin, residuals: IndexedSeq[Residual]) {
  private[this] val sums = SumChanges(join, residuals)

  def rows: Array[Int] = sums.rows
  def element: Array[Long] = sums.element

  /** Components (bit set) whose row differs from that of the result before; all the first time. */
  def changed: Long = sums.changed

  def next(): Boolean = sums.next()

  /** Skips what is left. */
  def drain(): Unit = sums.drain()
}
