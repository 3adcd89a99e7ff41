package io.joinless.spark.exec

import io.joinless.engine.update.Reversal
import io.joinless.spark.state.{CellState, ChangeLogWriter, Undo}
import org.apache.spark.sql.catalyst.InternalRow

/** One batch in one cell of an append-only block: all rows stay. */
final private class AppendedTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends RowByRowTask(context, start, input) {
  import context._

  private[this] val log = new ChangeLogWriter(cell, start.nextSequence, store, blocks = start.tail)
  private[this] val reversal = if (tree.rows == 0) null else new Reversal(tree)

  override protected def came(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit =
    log.append(roles, base, offset, bytes)

  override protected def comes(relation: Int, row: Int): Unit =
    if (reversal != null) reversal.came(relation, row)

  override protected def close(): (CellState, Option[Undo]) = {
    checkSize(tree.bytes)
    log.close(reader)(_ => (roles, _, _, base, offset, bytes) => log.append(roles, base, offset, bytes))
    metrics.logRows = tree.rows
    CellState(tree, log.nextSequence, log.tail) -> Some(undo)
  }

  private def undo: Undo = if (reversal == null) new FirstBatch(spec) else new LastBatch(start, reversal)

  override protected def takenBack(): Option[CellState] = {
    stop()
    Some(undo())
  }
}
