package io.joinless.spark.exec.cells

import io.joinless.engine.algebra.{CountOverflow, WeightOverflow}
import io.joinless.engine.update.{DeleteOfAbsentRow, NettedBatch, Reversal}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.rows.RowText
import io.joinless.spark.state.{Rollback, RowWords}
import io.joinless.spark.state.cells.{CellJournal, CellState, Undo}
import io.joinless.spark.state.log.{LogExtent, NewestCounts}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One batch in one cell whose rows are counted. All rows are read and netted, the resulting count
  * of each changed row is written to the log, then the changes of the result are emitted.
  *
  * @param first rolls back the first batch of a cell
  * @param reversal of the state before the batch
  * @param further parts of the state that the batch changes in place
  */
abstract private class NettedTask(
    context: CellContext,
    before: NettedState,
    exchanged: Iterator[InternalRow],
    first: Undo,
    reversal: => Reversal,
    further: Seq[Rollback] = Nil
) extends CellTask(context, before) {
  import context._

  private[this] val views = before.views
  private[this] val arrived = new ArrivedRows(context, before, exchanged)
  private[this] val expiring = before.expiring.orNull
  private[this] val notes =
    Option.when(views.rows > 0 || before.extent.entries > 0)(new LogExtent.Notes(before.extent, reversal))
  private[this] val counts =
    new NewestCounts(spec, views, before.extent, blocks, writer(before.log, weights = true), notes)
  private[this] val cellLog = log(counts)
  private[this] val words = new RowWords
  private[this] var begun = false
  private[this] var prepared = false

  final override protected val undo: Undo =
    notes.fold(first)(n => new CellJournal(before, n.reversal, (n +: before.expiring.toSeq) ++ further))

  /** The batch that is collected and applied to the views. */
  protected def batch: NettedBatch

  /** Returns the next change of the result; null if there is none left. The batch has begun. */
  protected def emitNext(): UnsafeRow

  /** The next change of the result; the first call reads the whole batch. Errors of the engine
    * become those of users.
    */
  final override protected def emit(): UnsafeRow =
    try {
      if (!begun) begin()
      emitNext()
    } catch {
      case e: DeleteOfAbsentRow => throw absent(e)
      case _: WeightOverflow => throw JoinlessErrors.weightOverflow()
      case _: CountOverflow => throw JoinlessErrors.countBeyond127Bits(cell)
    }

  /** Reads the whole batch, evicts the rows that expire, and writes the resulting counts of changed
    * rows to the log. The views are not changed yet.
    */
  protected def begin(): Unit = {
    begun = true
    if (expiring != null) expiring.settle(views)
    while (arrived.next()) take()
    if (expiring != null) expire()
    batch.prepare()
    if (expiring != null) noteTimes()
    val changed = counts.writeChanges(batch)
    prepared = true
    metrics.rowsNetted -= changed // all taken rows were counted; those that change are subtracted
  }

  /** Adds the arrived row with the roles in which it has not expired. An insert that has expired in
    * all roles is counted.
    */
  private def take(): Unit = {
    val kept =
      if (expiring == null) arrived.roles
      else expiring.kept(arrived.roles, watermark, arrived.base, arrived.offset, arrived.bytes)
    if (kept != 0L) add(kept)
    else if (arrived.weight > 0) metrics.rowsExpired += 1
  }

  /** Adds the arrived row's change to the batch, in these roles. A row of an append-only input is
    * written to the log at once, others when the batch is netted.
    */
  private def add(roles: Long): Unit = {
    val row = words(arrived.base, arrived.offset, arrived.bytes)
    metrics.propagate.begin()
    batch.add(arrived.input, roles, arrived.weight, row, arrived.bytes >>> 3)
    metrics.propagate.end()
    if (spec.inputs(arrived.input).retractable) metrics.rowsNetted += 1
    else counts.writeAppended(roles, arrived.base, arrived.offset, arrived.bytes)
  }

  /** Evicts rows whose time has passed, with all their copies and with deletes that wait for their
    * insert. The batch has no changes of these rows: `take` has left them out.
    */
  private def expire(): Unit = {

    /** Looks up all changes added so far, so that counts include them. */
    def takeInAll(): Unit = batch.collect()
    takeInAll()
    expiring.end(watermark) { (relation, row) =>
      if (expiring.mayOccurAgain(relation)) takeInAll() // the eviction of the row, too
      val left = batch.after(relation, row)
      if (left != 0 && expiring.isDue(relation, row, views)) {
        val arena = arenaOf(relation)
        batch.add(inputOf(relation), 1L << relation, -left, words(arena, row), arena.words(row))
        if (left > 0) metrics.rowsExpired += 1
      }
    }
  }

  /** Notes the rows that the prepared batch inserts and deletes, for the times at which they expire.
    */
  private def noteTimes(): Unit = batch.foreachChangedRow { (input, row) =>
    for (relation <- views.block.relationsOf(input)) {
      val (wasPresent, isPresent) = (batch.before(relation, row) != 0, batch.after(relation, row) != 0)
      if (isPresent && !wasPresent) expiring.inserted(relation, row, views)
      else if (wasPresent && !isPresent) expiring.deleted(relation, row, views)
    }
  }

  /** Moves to the next change of the results, and measures that; false after the last one. */
  final protected def step(): Boolean = {
    metrics.enumerate.begin()
    val more = advance()
    if (more) metrics.enumerate.end() else metrics.enumerate.endLast() // it clears up after the batch
    more
  }

  /** Moves to the next change of the result, or to several that are emitted one by one. */
  protected def advance(): Boolean = batch.next()

  override protected def close(): CellState = {
    val end = cellLog.close()
    metrics.rowsRemoved = counts.deleted
    before.at(end)
  }

  final override protected def complete(): Boolean = prepared && {
    batch.drain()
    true
  }

  /** The user's error for a delete of an absent row, which names the relation and its columns. */
  private def absent(e: DeleteOfAbsentRow): Throwable = {
    val relation = spec.relations(e.relation)
    val text = RowText(spec.inputs(relation.input).columns, e.row.toArray)
    JoinlessErrors.deleteOfAbsentRow(relation.name, text, e.present, e.change)
  }
}
