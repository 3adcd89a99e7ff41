package io.joinless.spark.exec

import io.joinless.spark.state.{CellState, ChangeLogWriter, Undo}
import org.apache.spark.sql.catalyst.InternalRow

/** One batch in one cell of an append-only block. No row is ever evicted. */
final private class AppendedTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends RowByRowTask(context, start, input) {
  import context._

  private[this] val log = new ChangeLogWriter(cell, start.nextSequence, store, blocks = start.tail)

  override protected def stored(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit =
    log.append(roles, base, offset, bytes)

  override protected def close(): (CellState, Undo) = {
    checkSize(tree.bytes)
    log.close(reader)(_ => (roles, _, _, base, offset, bytes) => log.append(roles, base, offset, bytes))
    metrics.logRows = tree.rows
    CellState(tree, log.nextSequence, log.tail) -> undo
  }
}
