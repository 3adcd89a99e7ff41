package io.joinless.spark.exec.cells

import io.joinless.engine.tuples.TupleArena
import io.joinless.spark.state.RowWords
import io.joinless.spark.state.cells.{CellState, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** One batch in one cell: an iterator over its results. How rows are stored and which results they
  * have is in two classes, each of which reads from the top:
  * {{{
  *            appended rows ([[RowByRowTask]])        changes ([[NettedTask]])
  * take       a few rows                              all rows
  * prepare    into the tree and the log               netted; what is left of them into the log
  * emit       those of each, then take again          all results
  * }}}
  * Both read rows with [[ArrivedRows]]. Here is what they have in common: when the last result was
  * emitted, the log is cleaned and closed, and state and undo are handed over, once.
  *
  * A task that fails, or that is not read to its end, has committed nothing. A task that was not
  * read to its end (because a LIMIT above had enough rows) can roll its state back. The state of a
  * task that failed cannot be used any more (P12, P16).
  *
  * @param before the state before the batch; its views are changed in place
  */
abstract private[exec] class CellTask(context: CellContext, before: CellState) extends Iterator[InternalRow] {
  import context.{metrics, spec}

  final protected val inputOf: Array[Int] = spec.relations.map(_.input).toArray
  final protected val arenas: Array[TupleArena] = spec.inputs.indices.map(before.views.arena).toArray
  final protected val arenaOf: Int => TupleArena = r => arenas(inputOf(r))

  private[this] var consumer: Thread = null
  private[this] var current: UnsafeRow = null
  private[this] var finished = false

  metrics.start(before.views)

  /** Returns the next result, and reads and applies rows until there is one; null if all rows are
    * applied and all results returned.
    */
  protected def emit(): UnsafeRow

  /** Closes the log. Returns the state after the batch. */
  protected def close(): CellState

  /** Completes what was begun, without its results; false if the state is not known. */
  protected def complete(): Boolean

  /** Leads from the state after the batch, or after what of it is complete, to the state before. */
  protected def undo: Undo

  final override def hasNext: Boolean = current != null || !finished && {
    if (consumer == null) consumer = Thread.currentThread
    current = emit()
    if (current == null) finish() else metrics.rowsOut += 1
    current != null
  }

  final override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more results")
    val result = current
    current = null
    result
  }

  /** Follows the last result. The operator's `commit` makes the log durable and caches the state. */
  private def finish(): Unit = {
    finished = true
    context.checkSize(before.bytes)
    context.commit(close(), undo)
  }

  /** Ends a task that was not read to its end. Returns the state before the batch. None if a thread
    * other than the caller's has read from the iterator and may still do so.
    */
  final def rollBack(): Option[CellState] =
    if (consumer == null) Some(before)
    else if (finished || (consumer ne Thread.currentThread)) None
    else {
      finished = true
      Option.when(complete())(undo())
    }
}

private[spark] object CellTask {

  /** Adds a row with these bytes to the arena and returns its id. */
  def append(arena: TupleArena, base: AnyRef, offset: Long, bytes: Int): Int = {
    val row = arena.reserve(bytes >>> 3)
    Platform.copyMemory(base, offset, arena.page(row), RowWords.offset(arena, row), bytes)
    row
  }
}
