package io.joinless.spark.state

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.{CellBlocks, CellStores}

/** The logs of a block's cells as of one committed batch, to be read by tasks. */
final class CommittedLogs(stores: CellStores) extends Serializable {

  def batch: Long = stores.batch

  /** Calls `read` with the blocks of a cell's log, in any order; nothing stays open after it. */
  def read[A](cell: Int)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
    val log = open(cell)
    try read(log.blocks)
    finally log.close()
  }

  /** The log of a cell, to be closed. */
  def open(cell: Int): CellBlocks =
    stores.open(cell, JoinlessErrors.stateGone(stores.batch, stores.checkpoint, cell, _))
}
