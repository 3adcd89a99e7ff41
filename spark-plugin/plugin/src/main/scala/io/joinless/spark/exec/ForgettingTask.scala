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
  * A batch is not taken back: rows that it forgot are gone. Another action on it, or a retry, rebuilds the views from the log.
  */
final private class ForgettingTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends RowByRowTask(context, start, input) {
  import context._

  private[this] val needed = start.needed.get
  private[this] val first = tree.rows == 0 && needed.oldest.isEmpty
  private[this] val log = new NeededRowsLog(spec, cell, start, store, reader, watermark)
  private[this] val forget = new Forgetting(tree)

  override protected def came(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    needed.came(roles, row, base, offset, bytes)
    log.append(roles, base, offset, bytes)
  }

  override protected def comes(relation: Int, row: Int): Unit = ()

  override protected def close(): (CellState, Option[Undo]) = {
    checkSize(start.bytes)
    metrics.propagate.once {
      metrics.rowsForgotten = needed.advance(watermark, tree)(forget)
    }
    log.close(tree.rows, metrics.rowsForgotten)
    metrics.rowsRemoved = metrics.rowsForgotten
    metrics.logRows = needed.entries
    metrics.nextForgotten = needed.next
    CellState(tree, log.nextSequence, log.tail, needed = start.needed) -> Option.when(first)(new FirstBatch(spec))
  }

  override protected def takenBack(): Option[CellState] = Option.when(first)(CellTask.empty(spec))
}
