package io.joinless.spark.exec

import io.joinless.engine.update.Reversal
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, Undo}

/** What a batch did to a cell whose rows all stay. */
final private class LastBatch(start: CellState, reversal: Reversal) extends Undo {

  override def apply(): CellState = {
    reversal.undo()
    start
  }

  override def bytes: Long = reversal.bytes
}

/** The first batch of a cell, however large: what was before it is an empty tree. */
final private class FirstBatch(spec: BlockSpec) extends Undo {
  override def apply(): CellState = CellTask.empty(spec)
  override def bytes: Long = 0L
}
