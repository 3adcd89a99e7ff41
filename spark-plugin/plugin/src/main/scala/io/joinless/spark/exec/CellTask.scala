package io.joinless.spark.exec

import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, ChangeLogReader, ExpiringRows, LogExtent, NeededRows, RowWords, Undo, Views}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** One batch in one cell: an iterator over its results, which takes rows, prepares, emits and commits.
  * {{{
  *            appended rows ([[RowByRowTask]])        changes ([[ChangelogTask]])
  * take       a few rows                              all rows
  * prepare    into the tree and the log               netted; what is left of them into the log
  * emit       those of each, then take again          all results, then the log is cleaned
  * commit     log closed, state and undo handed over, once
  * }}}
  * A task that fails, or is not drained, has committed nothing. One that was not drained (a limit above had enough) can roll
  * its state back; the state of one that failed is of no use any more (P12, P16).
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

  /** A row that came: its roles, all of them of `input`, and where its bytes lie for now. */
  protected def take(exchanged: UnsafeRow, input: Int, roles: Long, offset: Long, bytes: Int): Unit

  /** The next result, taking rows as needed; null where there is none left. */
  protected def emit(): UnsafeRow

  /** Closes the log. The state is that after the batch, the undo leads to the one before it. */
  protected def close(): (CellState, Undo)

  /** The state after what was done of the batch so far is undone; None where that is not known. */
  protected def takenBack(): Option[CellState]

  /** Takes the next row; false where there is none. */
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

  /** Ends a task that was not drained: the state as it was at the start. None where a thread other than the caller's has drawn
    * from the iterator and may still do so.
    */
  final def rollBack(): Option[CellState] =
    if (consumer == null) Some(start)
    else if (finished || (consumer ne Thread.currentThread)) None
    else {
      finished = true
      takenBack()
    }
}

private[spark] object CellTask {

  /** The task that the block's inputs need. */
  private[exec] def apply(context: CellContext, start: CellState, rows: Iterator[InternalRow]): CellTask =
    if (context.spec.shape.reduction.isDefined) new ReducedTask(context, start, rows)
    else if (context.spec.retractable) new ChangelogTask(context, start, rows)
    else if (context.spec.forgets) new ForgettingTask(context, start, rows)
    else new AppendedTask(context, start, rows)

  final val RowsBetweenSizeChecks = 8192

  /** A new row of the arena with these bytes. */
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

  /** The views of what the log holds.
    *
    * @param settled counted results are taken in; else they are there to be read
    * @param watermark where rows are forgotten: those that were needed no longer at this one are left out
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
