package io.joinless.spark.exec

import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, ChangeLogReader, ExpiringRows, LogExtent, NeededRows, RowWords, Undo, Views}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** One batch in one cell: an iterator over its results, which takes rows, prepares, emits and
  * commits.
  * {{{
  *            appended rows ([[RowByRowTask]])        changes ([[ChangelogTask]])
  * take       a few rows                              all rows
  * prepare    into the tree and the log               netted; what is left of them into the log
  * emit       those of each, then take again          all results, then the log is cleaned
  * commit     log closed, state and undo handed over, once
  * }}}
  * A task that fails, or that is not read to its end, has committed nothing. A task that was not
  * read to its end (because a LIMIT above had enough rows) can roll its state back. The state of a
  * task that failed cannot be used any more (P12, P16).
  */
abstract private[exec] class CellTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends Iterator[InternalRow] {
  import context.{metrics, spec}

  final protected val views: RowStore = start.views
  final protected val inputOf: Array[Int] = spec.relations.map(_.input).toArray
  final protected val arenas: Array[TupleArena] = spec.inputs.indices.map(views.arena).toArray
  final protected val arenaOf: Int => TupleArena = r => arenas(inputOf(r))

  private[this] var consumer: Thread = null
  private[this] var current: UnsafeRow = null
  private[this] var finished = false

  metrics.start(views)

  /** Takes an inserted row: its roles, which are all relations of `input`, and the current position
    * of its bytes.
    */
  protected def take(exchanged: UnsafeRow, input: Int, roles: Long, offset: Long, bytes: Int): Unit

  /** Returns the next result and takes rows as needed; null if there is none left. */
  protected def emit(): UnsafeRow

  /** Closes the log. Returns the state after the batch, and the undo that leads to the state before
    * it.
    */
  protected def close(): (CellState, Undo)

  /** The state after everything that the batch did so far is undone; None if it is not known. */
  protected def rolledBack(): Option[CellState]

  /** Takes the next row; false if there is none. */
  final protected def takeNext(): Boolean = input.hasNext && {
    val exchanged = input.next().asInstanceOf[UnsafeRow]
    val roles = exchanged.getLong(ExchangeRow.Roles)
    val place = exchanged.getLong(ExchangeRow.Row)
    val in = inputOf(java.lang.Long.numberOfTrailingZeros(roles))
    take(exchanged, in, roles, exchanged.getBaseOffset + (place >>> 32), place.toInt)
    metrics.rowsIn += 1
    if (metrics.rowsIn % CellTask.RowsBetweenSizeChecks == 0) context.checkSize(start.bytes)
    true
  }

  final override def hasNext: Boolean = current != null || !finished && {
    if (consumer == null) consumer = Thread.currentThread
    current = emit()
    if (current == null) commit() else metrics.rowsOut += 1
    current != null
  }

  final override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more results")
    val result = current
    current = null
    result
  }

  private def commit(): Unit = {
    finished = true
    val (state, undo) = close()
    context.commit(state, undo)
  }

  /** Ends a task that was not read to its end. Returns the state at the start. None if a thread
    * other than the caller's has read from the iterator and may still do so.
    */
  final def rollBack(): Option[CellState] =
    if (consumer == null) Some(start)
    else if (finished || (consumer ne Thread.currentThread)) None
    else {
      finished = true
      rolledBack()
    }
}

private[spark] object CellTask {

  /** The task for the inputs of the block. */
  private[exec] def apply(context: CellContext, start: CellState, rows: Iterator[InternalRow]): CellTask =
    if (context.spec.shape.reduction.isDefined) new ReducedTask(context, start, rows)
    else if (context.spec.retractable) new ChangelogTask(context, start, rows)
    else if (context.spec.forgets) new ForgettingTask(context, start, rows)
    else new AppendedTask(context, start, rows)

  final val RowsBetweenSizeChecks = 8192

  /** Adds a row with these bytes to the arena and returns its id. */
  def append(arena: TupleArena, base: AnyRef, offset: Long, bytes: Int): Int = {
    val row = arena.reserve(bytes >>> 3)
    Platform.copyMemory(base, offset, arena.page(row), RowWords.offset(arena, row), bytes)
    row
  }

  /** The views of an empty log. */
  def empty(spec: BlockSpec): CellState =
    CellState(
      Views.empty(spec),
      0L,
      extent = Option.when(spec.retractable)(new LogExtent(spec)),
      needed = Option.when(spec.forgets)(new NeededRows(spec)),
      expiring = Option.when(spec.expires)(new ExpiringRows(spec))
    )

  /** Rebuilds the views from the log.
    *
    * @param settled true: pending counts are folded in; false: they are left to the caller
    * @param watermark where rows are evicted: rows that were needed no longer at this watermark are
    *   left out
    */
  def rebuild(
      spec: BlockSpec,
      reader: ChangeLogReader,
      blocks: Iterator[(UnsafeRow, UnsafeRow)],
      checkSize: Long => Unit,
      settled: Boolean = true,
      watermark: Long = Long.MinValue
  ): CellState = new Rebuild(spec, reader, checkSize, settled, watermark)(blocks)
}
