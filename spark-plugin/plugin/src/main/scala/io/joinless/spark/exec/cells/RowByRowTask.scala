package io.joinless.spark.exec.cells

import io.joinless.engine.update.{DeltaEnumeration, PrefetchedRows, Reversal}
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.{OutputRow, ResidualPredicates}
import io.joinless.spark.spec.Roles
import io.joinless.spark.state.Rollback
import io.joinless.spark.state.cells.{CellJournal, CellState, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One batch in one cell of a block whose inputs are append-only: exchange rows in, result rows
  * out, streaming.
  *
  * Rows are written to the arena and to the log, a few of them ahead ([[PrefetchedRows]]), then
  * each is inserted role by role. The results of each insertion are emitted before the next one,
  * so no result is buffered.
  *
  * @param first rolls back the first batch of a cell
  * @param parts of the state, apart from the views, that are changed in place
  */
abstract private class RowByRowTask(
    context: CellContext,
    before: CellState,
    final protected val tree: ViewTree,
    exchanged: Iterator[InternalRow],
    first: Undo,
    parts: Rollback*
) extends CellTask(context, before) {
  import context._

  private[this] val arrived = new ArrivedRows(context, before, exchanged)
  private[this] val delta = new DeltaEnumeration(tree, ResidualPredicates.compile(spec, residuals, arenaOf))
  private[this] val output = new OutputRow(spec, arenaOf, numbers = if (weighted) 1 else 0, tree.words, tree.location)
  private[this] val reversal = if (tree.rows == 0) null else new Reversal(tree)

  private[this] val ahead = new PrefetchedRows(tree)
  private[this] var position = 0 // of the current row, among the rows taken ahead
  private[this] var rolesLeft = 0L // roles of the current row, not yet inserted
  private[this] var enumerating = false

  final override protected val undo: Undo = if (reversal == null) first else new CellJournal(before, reversal, parts)

  /** The next result: of the insertion under way, else of the row's next role, else of the next
    * row.
    */
  final override protected def emit(): UnsafeRow = {
    var result: UnsafeRow = null
    var more = true
    while (result == null && more) {
      if (enumerating) {
        result = nextResult()
        enumerating = result != null
      } else if (rolesLeft != 0L) insert()
      else more = nextRow()
    }
    result
  }

  /** Moves to the next of the rows taken ahead, and takes more if there is none; false if the input
    * is exhausted.
    */
  private def nextRow(): Boolean = {
    position += 1
    if (position >= ahead.size) {
      position = 0
      takeAhead()
    }
    !ahead.isEmpty && { rolesLeft = ahead.roles(position); true }
  }

  /** Stores the next rows, up to the size of a prefetch group, and looks up their keys. */
  private def takeAhead(): Unit = {
    ahead.clear()
    while (!ahead.isFull && arrived.next()) storeArrived()
    if (!ahead.isEmpty) metrics.propagate.once(ahead.ready())
  }

  /** Stores the arrived row, in no relation yet. */
  private def storeArrived(): Unit = {
    val row = CellTask.append(arenas(arrived.input), arrived.base, arrived.offset, arrived.bytes)
    ahead.add(arrived.roles, row)
    stored(arrived.roles, row, arrived.base, arrived.offset, arrived.bytes)
  }

  /** A row was stored, to be inserted in these roles (bit set); `row` is its id in its arena, and
    * its bytes are at `offset` of `base`.
    */
  protected def stored(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit

  /** Inserts the current row in the next of its roles; the results follow from `nextResult`. */
  private def insert(): Unit = {
    val role = Roles.first(rolesLeft)
    rolesLeft = Roles.rest(rolesLeft)
    val row = ahead.row(position)
    metrics.propagate.begin()
    if (reversal != null) reversal.inserted(role, row)
    delta.insert(role, row)
    metrics.propagate.end()
    enumerating = true
  }

  /** The next result of the last insertion: the rest of a run first. Null after the last one; then
    * the insertion is complete, and what it made live is marked.
    */
  private def nextResult(): UnsafeRow = {
    val ofRun = output.nextOfRun()
    if (ofRun != null) ofRun
    else {
      metrics.enumerate.begin()
      val result =
        if (!delta.next(output.run)) null
        else if (weighted) output.update(delta, 1L)
        else output.update(delta)
      metrics.enumerate.end()
      result
    }
  }

  /** Completes the insertion under way; rows that were taken ahead but not inserted are freed. */
  final override protected def complete(): Boolean = {
    delta.complete()
    ahead.free(position + 1)
    true
  }
}
