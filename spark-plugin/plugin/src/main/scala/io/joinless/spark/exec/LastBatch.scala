package io.joinless.spark.exec

import io.joinless.engine.update.Reversal
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CachedTree, ExtentJournal, Undo}

/** What a batch did to a cell: to its view tree and, where the block has a changelog, to what is known of its log. */
final private class LastBatch(start: CachedTree, reversal: Reversal, journal: Option[ExtentJournal]) extends Undo {

  override def apply(): CachedTree = {
    reversal.undo()
    journal.foreach(_.undo())
    start
  }

  override def bytes: Long = reversal.bytes + journal.fold(0L)(_.bytes)
}

/** The first batch of a cell, however large: what was before it is an empty tree. */
final private class FirstBatch(spec: BlockSpec) extends Undo {
  override def apply(): CachedTree = CellTask.empty(spec)
  override def bytes: Long = 0L
}
