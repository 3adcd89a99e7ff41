package io.joinless.spark.exec

import io.joinless.engine.update.Reversal
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, Undo}

/** Undoes what a batch did to a cell whose inputs are append-only.
  *
  * @param first rolls back other state, before the views
  */
final private class LastBatch(start: CellState, reversal: Reversal, first: () => Unit) extends Undo {

  override def apply(): CellState = {
    first()
    reversal.undo()
    start
  }

  override def bytes: Long = reversal.bytes
}

/** The first batch of a cell, however large: the state before it is an empty tree. */
final private class FirstBatch(spec: BlockSpec) extends Undo {
  override def apply(): CellState = CellTask.empty(spec)
  override def bytes: Long = 0L
}
