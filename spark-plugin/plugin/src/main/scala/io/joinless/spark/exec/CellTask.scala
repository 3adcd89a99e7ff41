package io.joinless.spark.exec

import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.update.{DeltaEnumeration, Reversal}
import io.joinless.engine.view.ViewTree
import io.joinless.spark.spec.{BlockSpec, RowCodec}
import io.joinless.spark.state.{CachedTree, ChangeLogReader, ChangeLogWriter, LogExtent, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.joinless.BlockStore
import org.apache.spark.unsafe.Platform

/** One batch in one cell of an append-only block: exchange rows in, result rows out, streaming.
  *
  * Each row is written to the arena and to the log, then inserted role by role; the results of each insertion are handed
  * out before the next, so nothing is buffered. When all is drained, the log is closed and `commit` called, once. A task
  * that is not drained has committed nothing.
  *
  * @param deltas each result has the weight 1 as its last column
  * @param start the cell's tree as of the version the batch starts from
  * @param reader of the log's blocks that are merged
  * @param checkSize told the bytes of the tree now and then, and before the commit; throws where that is too much
  * @param commit makes the batch durable; gets the tree as it then is, and the way back
  */
final private class CellTask(
    spec: BlockSpec,
    residuals: Seq[Expression],
    cell: Int,
    start: CachedTree,
    input: Iterator[InternalRow],
    store: BlockStore,
    reader: ChangeLogReader,
    checkSize: Long => Unit,
    commit: (CachedTree, Undo) => Unit,
    metrics: TaskMetrics,
    deltas: Boolean = false
) extends BatchTask {
  import CellTask._

  private[this] val tree = start.tree
  private[this] val log = new ChangeLogWriter(cell, start.nextSequence, store, blocks = start.tail)
  private[this] val inputOf = spec.relations.map(_.input).toArray
  private[this] val arenas = spec.inputs.indices.map(tree.arena).toArray
  private[this] val arenaOf: Int => TupleArena = r => arenas(inputOf(r))
  private[this] val delta = new DeltaEnumeration(tree, ResidualPredicates.compile(spec, residuals, arenaOf))
  private[this] val output = new OutputRow(spec, arenaOf, deltas)
  private[this] val reversal = if (tree.rows == 0) null else new Reversal(tree)

  private[this] var roles = 0L // of the current row, not yet inserted
  private[this] var row = 0
  private[this] var untouched = false // none of the current row's roles is inserted
  private[this] var consumer: Thread = null
  private[this] var enumerating = false
  private[this] var current: UnsafeRow = null
  private[this] var finished = false

  metrics.start(tree)

  override def hasNext: Boolean = current != null || advance()

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more results")
    val result = current
    current = null
    result
  }

  private def advance(): Boolean = {
    while (!finished) {
      if (enumerating) {
        if (nextResult()) return true
        enumerating = false
      } else if (roles != 0L) insert()
      else if (input.hasNext) take(input.next().asInstanceOf[UnsafeRow])
      else finish()
    }
    false
  }

  private def nextResult(): Boolean = {
    metrics.enumerate.begin()
    val more = delta.next()
    if (more) {
      current =
        if (deltas) output.update(delta.rows, delta.changed, 1L) else output.update(delta.rows, delta.changed)
      metrics.rowsOut += 1
    }
    metrics.enumerate.end()
    more
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

  private def take(exchanged: UnsafeRow): Unit = {
    if (consumer == null) consumer = Thread.currentThread
    val place = exchanged.getLong(ExchangeRow.Row)
    val (offset, bytes) = (exchanged.getBaseOffset + (place >>> 32), place.toInt)
    roles = exchanged.getLong(ExchangeRow.Roles)
    row = append(
      arenas(inputOf(java.lang.Long.numberOfTrailingZeros(roles))),
      exchanged.getBaseObject,
      offset,
      bytes
    )
    untouched = true
    log.append(roles, exchanged.getBaseObject, offset, bytes)
    metrics.rowsIn += 1
    if (metrics.rowsIn % RowsBetweenSizeChecks == 0) checkSize(tree.bytes)
  }

  private def finish(): Unit = {
    finished = true
    checkSize(tree.bytes)
    log.close(reader)(_ => (roles, _, _, base, offset, bytes) => log.append(roles, base, offset, bytes))
    metrics.logRows = tree.rows
    commit(CachedTree(tree, log.nextSequence, log.tail), wayBack)
  }

  private def wayBack: Undo = if (reversal == null) new FirstBatch(spec) else new LastBatch(start, reversal, None)

  override def takeBack(): Option[CachedTree] =
    Option.when(!finished && (consumer == null || (consumer eq Thread.currentThread))) {
      finished = true
      delta.complete()
      if (untouched) arenas(inputOf(java.lang.Long.numberOfTrailingZeros(roles))).free(row)
      wayBack()
    }
}

private[spark] object CellTask {
  final val RowsBetweenSizeChecks = 8192

  /** A new row of the arena with these bytes. */
  def append(arena: TupleArena, base: AnyRef, offset: Long, bytes: Int): Int = {
    val row = arena.reserve(bytes >>> 3)
    Platform.copyMemory(base, offset, arena.page(row), Platform.LONG_ARRAY_OFFSET + 8L * arena.start(row), bytes)
    row
  }

  /** The view tree of an empty log. */
  def empty(spec: BlockSpec): CachedTree =
    CachedTree(new ViewTree(RowCodec.blockDef(spec)), 0L, extent = Option.when(spec.retractable)(new LogExtent(spec)))

  /** The view tree of what the log holds. */
  def rebuild(
      spec: BlockSpec,
      reader: ChangeLogReader,
      blocks: Iterator[(UnsafeRow, UnsafeRow)],
      checkSize: Long => Unit
  ): CachedTree = new Rebuild(spec, reader, checkSize)(blocks)
}
