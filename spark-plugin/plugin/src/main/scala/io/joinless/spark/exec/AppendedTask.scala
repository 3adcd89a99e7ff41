package io.joinless.spark.exec

import io.joinless.engine.update.{DeltaEnumeration, Reversal}
import io.joinless.spark.state.{CellState, ChangeLogWriter, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One batch in one cell of an append-only block: exchange rows in, result rows out, streaming.
  *
  * Each row is written to the arena and to the log, then inserted role by role; the results of each insertion are handed
  * out before the next, so nothing is buffered.
  */
final private class AppendedTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends CellTask(context, start, input) {
  import context._

  private[this] val tree = start.tree
  private[this] val log = new ChangeLogWriter(cell, start.nextSequence, store, blocks = start.tail)
  private[this] val delta = new DeltaEnumeration(tree, ResidualPredicates.compile(spec, residuals, arenaOf))
  private[this] val output = new OutputRow(spec, arenaOf, numbers = if (weighted) 1 else 0)
  private[this] val reversal = if (tree.rows == 0) null else new Reversal(tree)

  private[this] var roles = 0L // of the current row, not yet inserted
  private[this] var row = 0
  private[this] var untouched = false // none of the current row's roles is inserted
  private[this] var enumerating = false

  override protected def emit(): UnsafeRow = {
    var result: UnsafeRow = null
    var more = true
    while (result == null && more) {
      if (enumerating) {
        result = nextResult()
        enumerating = result != null
      } else if (roles != 0L) insert()
      else more = takeNext()
    }
    result
  }

  private def nextResult(): UnsafeRow = {
    metrics.enumerate.begin()
    val result =
      if (!delta.next()) null
      else if (weighted) output.update(delta.rows, delta.changed, 1L)
      else output.update(delta.rows, delta.changed)
    metrics.enumerate.end()
    result
  }

  private def insert(): Unit = {
    val role = java.lang.Long.numberOfTrailingZeros(roles)
    roles &= roles - 1
    metrics.propagate.begin()
    untouched = false
    if (reversal != null) reversal.came(role, row)
    delta.insert(role, row)
    metrics.propagate.end()
    enumerating = true
  }

  override protected def take(exchanged: UnsafeRow, input: Int, roles: Long, offset: Long, bytes: Int): Unit = {
    this.roles = roles
    row = CellTask.append(arenas(input), exchanged.getBaseObject, offset, bytes)
    untouched = true
    log.append(roles, exchanged.getBaseObject, offset, bytes)
  }

  override protected def close(): (CellState, Undo) = {
    checkSize(tree.bytes)
    log.close(reader)(_ => (roles, _, _, base, offset, bytes) => log.append(roles, base, offset, bytes))
    metrics.logRows = tree.rows
    CellState(tree, log.nextSequence, log.tail) -> undo
  }

  private def undo: Undo = if (reversal == null) new FirstBatch(spec) else new LastBatch(start, reversal)

  override protected def takenBack(): Option[CellState] = {
    delta.complete()
    if (untouched) arenas(inputOf(java.lang.Long.numberOfTrailingZeros(roles))).free(row)
    Some(undo())
  }
}
