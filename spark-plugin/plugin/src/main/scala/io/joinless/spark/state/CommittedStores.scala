package io.joinless.spark.state

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.{CellBlocks, CellStores}

/** The stores of an operator as of one committed batch, to be read by tasks: the logs of a block's
  * cells, or the groups of partitions.
  */
final class CommittedStores(val cells: CellStores) extends Serializable {

  def batch: Long = cells.batch

  /** The checkpoint's folder, in full. */
  def checkpoint: String = cells.checkpoint

  /** Calls `read` with the entries of a cell's store, in any order; nothing stays open after it. */
  def read[A](cell: Int)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
    val store = open(cell)
    try read(store.blocks)
    finally store.close()
  }

  /** The store of a cell, to be closed. */
  def open(cell: Int): CellBlocks =
    cells.open(cell, JoinlessErrors.stateMissing(batch, checkpoint, cell, _))
}
