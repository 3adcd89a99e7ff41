package io.joinless.engine.sample

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.PositionList

/** Uniform subsets of positions, drawn in parts: no position is drawn twice. */
final private[sample] class Subsets(draws: Draws, limit: Wide) {
  private[this] val taken = new PositionList

  /** How many positions are left. */
  def left: Wide = {
    val left = new Wide
    left.set(limit)
    left.subtract(Wide(taken.size.toLong))
    left
  }

  /** So many positions that were not drawn yet, in ascending order; all that are left if these are
    * fewer.
    */
  def next(count: Int): PositionList = {
    val drawn = new PositionList
    val wanted = Wide(count.toLong)
    if (wanted.compare(left) >= 0) addOthers(drawn)
    else if (isCrowded(count)) {
      addOthers(drawn)
      draws.choose(drawn, count)
    } else while (drawn.size < count) {
      draws.positions(count - drawn.size, limit, drawn)
      drawn.sortDistinct()
      drawn.removeAll(taken)
    }
    taken.addAll(drawn)
    taken.sortDistinct()
    drawn
  }

  /** Whether a uniform position is often one that was drawn already. */
  private def isCrowded(count: Int): Boolean = limit.compare(Wide(2L * (count.toLong + taken.size))) < 0

  /** Adds all positions that were not drawn yet. */
  private def addOthers(into: PositionList): Unit = {
    val position = Wide(0L)
    while (position.compare(limit) < 0) {
      into.add(position)
      position.add(0L, 1L)
    }
    into.removeAll(taken)
  }
}
