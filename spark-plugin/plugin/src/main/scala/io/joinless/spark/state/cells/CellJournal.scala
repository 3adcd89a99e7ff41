package io.joinless.spark.state.cells

import io.joinless.engine.update.Reversal
import io.joinless.spark.state.Rollback

/** Rolls back the last batch of a cell. Must be called once, before anything else is done to the
  * state.
  */
trait Undo {

  /** Rolls the batch back, and returns the state before it. */
  def apply(): CellState
  def bytes: Long
}

/** What a batch did to a cell's state, and how it is rolled back:
  * {{{
  * views     a Reversal has the rows that were inserted, and those whose counts changed
  * parts     each rolls itself back, in this order, given the views from before
  * log       is as in the store: the blocks of the batch are replaced when it is repeated
  * }}}
  *
  * @param start the state before the batch, which is changed in place
  * @param parts of the state, apart from the views, that the batch changes in place
  */
final private[spark] class CellJournal(start: CellState, val reversal: Reversal, parts: Seq[Rollback]) extends Undo {

  override def apply(): CellState = {
    reversal.undo()
    parts.foreach(_.rollBack(start.views))
    start
  }

  override def bytes: Long = reversal.bytes + parts.map(_.bytesToRollBack).sum
}

/** The journal of the first batch of a cell, however large: the state before it is an empty one.
  *
  * @param empty must not hold the task
  */
final private[spark] class FirstBatch(empty: () => CellState) extends Undo {
  override def apply(): CellState = empty()
  override def bytes: Long = 0L
}
