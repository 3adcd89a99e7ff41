package io.joinless.spark.exec

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.engine.update.{DeleteOfAbsentRow, NettedBatch}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.state.{CellJournal, CellState, CountLog, RowWords, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** One batch in one cell whose rows are counted. All rows are read and netted, the resulting count
  * of each changed row is written to the log, then the changes of the result are emitted.
  */
abstract private class CountedTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends CellTask(context, start, input) {
  import context._

  private[this] val extent = start.extent.get
  private[this] val first = views.rows == 0 && extent.entries == 0
  private[this] val journal = if (first) None else Some(new CellJournal(start))
  private[this] val log = new CountLog(spec, cell, start, extent, store, reader, journal)
  private[this] val words = new RowWords
  private[this] val expiring = start.expiring.orNull
  private[this] var undo: Undo = null // set once the batch is prepared
  private[this] var begun = false

  protected def batch: NettedBatch

  /** Returns the next change of the result; null if there is none left. The batch has begun. */
  protected def emitNext(): UnsafeRow

  final override protected def emit(): UnsafeRow =
    try {
      if (!begun) begin()
      emitNext()
    } catch {
      case e: DeleteOfAbsentRow => throw absent(e)
      case _: WeightOverflow => throw JoinlessErrors.weightOverflow()
    }

  /** Reads the batch, and writes the resulting counts of changed rows to the log. */
  protected def begin(): Unit = {
    begun = true
    if (expiring != null) expiring.settle(views)
    while (takeNext()) {}
    if (expiring != null) expire()
    batch.prepare()
    if (expiring != null) batch.foreachChangedRow { (input, row) =>
      for (relation <- views.block.relationsOf(input)) {
        val (wasPresent, isPresent) = (batch.before(relation, row) != 0, batch.after(relation, row) != 0)
        if (isPresent && !wasPresent) expiring.inserted(relation, row, views)
        else if (wasPresent && !isPresent) expiring.deleted(relation, row, views)
      }
    }
    val changed = log.writeChanges(batch)
    undo = journal.getOrElse(new FirstBatch(spec))
    metrics.rowsNetted -= changed // all taken rows were counted; those that change are subtracted
  }

  /** Evicts rows whose time has passed, with all their copies and with deletes that wait for their
    * insert. The batch has no changes of these rows: `take` has left them out.
    */
  private def expire(): Unit = {
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

  /** Adds a row with the roles in which it has not expired. An insert that has expired in all roles
    * is counted.
    */
  final override protected def take(
      exchanged: UnsafeRow,
      input: Int,
      roles: Long,
      offset: Long,
      bytes: Int
  ): Unit = {
    val kept =
      if (expiring == null) roles else expiring.kept(roles, watermark, exchanged.getBaseObject, offset, bytes)
    if (kept != 0L) add(exchanged, input, kept, offset, bytes)
    else if (exchanged.getLong(ExchangeRow.Weight) > 0) metrics.rowsExpired += 1
  }

  private def add(exchanged: UnsafeRow, input: Int, roles: Long, offset: Long, bytes: Int): Unit = {
    val row = words(exchanged.getBaseObject, offset, bytes)
    metrics.propagate.begin()
    batch.add(input, roles, exchanged.getLong(ExchangeRow.Weight), row, bytes >>> 3)
    metrics.propagate.end()
    if (spec.inputs(input).retractable) metrics.rowsNetted += 1
    else log.writeAppended(roles, exchanged.getBaseObject, offset, bytes)
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

  override protected def close(): (CellState, Undo) = {
    log.close()
    checkSize(start.bytes)
    if (expiring != null) metrics.nextForgotten = expiring.next(views)
    metrics.negativeRows = extent.negatives
    metrics.rowsRemoved = log.removed
    metrics.logRows = extent.entries
    CellState(views, log.nextSequence, log.tail, start.extent, expiring = start.expiring) -> undo
  }

  final override protected def rolledBack(): Option[CellState] = Option.when(undo != null) {
    batch.drain()
    undo()
  }

  private def absent(e: DeleteOfAbsentRow): Throwable = {
    val relation = spec.relations(e.relation)
    val text = RowText(spec.inputs(relation.input).columns, e.row.toArray)
    JoinlessErrors.deleteOfAbsentRow(relation.name, text, e.present, e.change)
  }
}
