package io.joinless.spark.exec

import io.joinless.engine.update.Forgetting
import io.joinless.spark.state.{CellState, NeededRowsLog, Undo}
import org.apache.spark.sql.catalyst.InternalRow

/** One batch in one cell of a block that evicts rows. The rows of the batch are inserted and joined
  * as in any block. Then the rows that no later row can match are evicted (algorithms A53, A54).
  *
  * Evicted rows emit nothing; results that were emitted stay valid. Rows are evicted up to the
  * watermark below which rows of later batches are late, so a row of this batch can match a row
  * that is evicted at the end of the batch. Cost: that of an append-only batch; for each evicted
  * row, that of a deletion whose results are not enumerated.
  *
  * Rows that are needed no longer after a batch stay stored until the next batch begins, so a batch
  * can be rolled back as in any other block.
  */
final private class ForgettingTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends RowByRowTask(context, start, input) {
  import context._

  private[this] val needed = start.needed.get
  private[this] val log = new NeededRowsLog(spec, cell, start, store, reader, watermark)
  metrics.propagate.once(needed.settle(tree, new Forgetting(tree)))

  override protected def stored(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    needed.inserted(roles, row, base, offset, bytes)
    log.append(roles, base, offset, bytes)
  }

  override protected def close(): (CellState, Undo) = {
    checkSize(start.bytes)
    needed.advance(watermark)
    // the tree holds evicted rows until `settle`, at the start of the next batch
    log.close(rows = tree.rows - needed.evicted, forgotten = needed.evicted)
    metrics.rowsForgotten = needed.evicted
    metrics.rowsRemoved = needed.evicted
    metrics.logRows = log.blocks.entries
    metrics.nextForgotten = needed.next
    CellState(tree, log.nextSequence, log.tail, needed = start.needed, blocks = log.blocks) -> undo
  }

  override protected def rollBackRest(): Unit = needed.rollBack()
}
