package io.joinless.spark.exec

import io.joinless.engine.update.Reversal
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, ExtentJournal, Undo}

/** What a batch did to a cell: to its view tree and, where the block has a changelog, to what is known of its log. */
final private class LastBatch(start: CellState, reversal: Reversal, journal: Option[ExtentJournal]) extends Undo {

  override def apply(): CellState = {
    reversal.undo()
    journal.foreach(_.undo())
    start
  }

  override def bytes: Long = reversal.bytes + journal.fold(0L)(_.bytes)
}

/** The first batch of a cell, however large: what was before it is an empty tree. */
final private class FirstBatch(spec: BlockSpec) extends Undo {
  override def apply(): CellState = CellTask.empty(spec)
  override def bytes: Long = 0L
}
