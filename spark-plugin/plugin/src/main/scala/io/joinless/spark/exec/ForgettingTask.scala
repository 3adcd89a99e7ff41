package io.joinless.spark.exec

import io.joinless.engine.update.Forgetting
import io.joinless.spark.state.{CellState, NeededRowsLog, Undo}
import org.apache.spark.sql.catalyst.InternalRow

/** One batch in one cell of a block that forgets rows: those that came are joined as any, then those go that no later row can meet
  * (algorithms A53, A54).
  *
  * What goes is not told, and the results that it was part of stand. The watermark up to which rows go is that below which rows of
  * later batches are late, so a row of this batch can meet a row that goes at its end. Cost: that of an append-only batch; for each row that goes, that of
  * a deletion whose results are not enumerated.
  *
  * Rows that are needed no longer behind a batch are stored until the next one begins: so a batch can be taken back as any other.
  */
final private class ForgettingTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends RowByRowTask(context, start, input) {
  import context._

  private[this] val needed = start.needed.get
  private[this] val log = new NeededRowsLog(spec, cell, start, store, reader, watermark)
  metrics.propagate.once(needed.settle(tree, new Forgetting(tree)))

  override protected def came(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    needed.came(roles, row, base, offset, bytes)
    log.append(roles, base, offset, bytes)
  }

  override protected def close(): (CellState, Undo) = {
    checkSize(start.bytes)
    needed.advance(watermark)
    log.close(tree.rows - needed.gone, needed.gone)
    metrics.rowsForgotten = needed.gone
    metrics.rowsRemoved = needed.gone
    metrics.logRows = log.blocks.entries
    metrics.nextForgotten = needed.next
    CellState(tree, log.nextSequence, log.tail, needed = start.needed, blocks = log.blocks) -> undo
  }

  override protected def takeBackBeside(): Unit = needed.takeBack()
}
