package io.joinless.spark.exec

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.update.{ChangeBatch, DeleteOfAbsentRow}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.spec.{BlockSpec, ColumnRef}
import io.joinless.spark.state.{CachedTree, ChangeLogReader, ExtentJournal, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, UnsafeRow}
import org.apache.spark.sql.joinless.BlockStore
import org.apache.spark.unsafe.Platform

/** One batch in one cell of a block with changelogs: exchange rows with weights in, net changes of the result out.
  *
  * The whole batch is read and netted; what it leaves of each row is written to the log; then the changes of the result
  * are enumerated, deletions first (D6). No output row comes with both signs: where the order of the changes does not see to
  * that, the output is netted in memory before the first row is handed out. It need not be where all changes have one sign,
  * or where the output shows each stored column of each relation (so that different results are different rows) and
  * the batch says that no result changes with both signs. Not netted, equal rows may come several times, with one sign.
  *
  * When all is drained, the log is cleaned and closed and `commit` called, once. A task that fails, or is not drained, has
  * committed nothing, and its tree is of no use any more.
  *
  * @param start the cell's tree as of the version the batch starts from
  * @param reader of the log's blocks that are cleaned or merged
  * @param owe rows may be deleted before they are inserted
  */
final private class ChangelogTask(
    spec: BlockSpec,
    residuals: Seq[Expression],
    cell: Int,
    start: CachedTree,
    input: Iterator[InternalRow],
    store: BlockStore,
    reader: ChangeLogReader,
    owe: Boolean,
    checkSize: Long => Unit,
    commit: (CachedTree, Undo) => Unit,
    metrics: TaskMetrics
) extends BatchTask {

  private[this] val tree = start.tree
  private[this] val extent = start.extent.get
  private[this] val first = tree.rows == 0 && extent.entries == 0
  private[this] val journal = if (first) None else Some(new ExtentJournal(tree, extent))
  private[this] val log = new CountLog(spec, cell, start, extent, store, reader, journal)
  private[this] val inputOf = spec.relations.map(_.input).toArray
  private[this] val arenas = spec.inputs.indices.map(tree.arena).toArray
  private[this] val arenaOf: Int => TupleArena = r => arenas(inputOf(r))
  private[this] val batch = new ChangeBatch(tree, ResidualPredicates.compile(spec, residuals, arenaOf), owe)
  private[this] val output = new OutputRow(spec, arenaOf, weighted = true)
  private[this] val weightAt = spec.output.size
  private[this] var words = new Array[Long](64)

  private[this] var consumer: Thread = null
  private[this] var wayBack: Undo = null // once the batch is prepared
  private[this] var net: NetRows = null
  private[this] var current: UnsafeRow = null
  private[this] var finished = false

  metrics.start(tree)

  override def hasNext: Boolean = current != null || !finished && {
    try advance()
    catch {
      case e: DeleteOfAbsentRow => throw absent(e)
      case _: WeightOverflow => throw JoinlessErrors.weightOverflow()
    }
    if (current == null) finish() else metrics.rowsOut += 1
    current != null
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more results")
    val result = current
    current = null
    result
  }

  private def advance(): Unit = {
    if (consumer == null) begin()
    if (net == null) {
      if (step()) current = output.update(batch.rows, batch.changed, batch.weight)
    } else if (net.next()) {
      net.row.setLong(weightAt, net.weight)
      current = net.row
    }
  }

  private def begin(): Unit = {
    consumer = Thread.currentThread
    while (input.hasNext) take(input.next().asInstanceOf[UnsafeRow])
    batch.prepare()
    wayBack = if (first) new FirstBatch(spec) else new LastBatch(start, batch.reversal(), journal)
    metrics.rowsNetted -= log.changed(batch)
    if (batch.bothSigns && (batch.repeats || !ChangelogTask.showsAll(spec))) {
      net = new NetRows(weightAt + 1)
      while (step()) net.add(output.update(batch.rows, batch.changed, 0L), batch.weight)
    }
  }

  private def take(exchanged: UnsafeRow): Unit = {
    val roles = exchanged.getLong(ExchangeRow.Roles)
    val place = exchanged.getLong(ExchangeRow.Row)
    val (offset, bytes) = (exchanged.getBaseOffset + (place >>> 32), place.toInt)
    val count = bytes >>> 3
    if (words.length < count) words = new Array[Long](2 * count)
    Platform.copyMemory(exchanged.getBaseObject, offset, words, Platform.LONG_ARRAY_OFFSET, bytes)
    val in = inputOf(java.lang.Long.numberOfTrailingZeros(roles))
    metrics.propagate.begin()
    batch.add(in, roles, exchanged.getLong(ExchangeRow.Weight), words, count)
    metrics.propagate.end()
    if (spec.inputs(in).retractable) metrics.rowsNetted += 1
    else log.appended(roles, exchanged.getBaseObject, offset, bytes)
    metrics.rowsIn += 1
    if (metrics.rowsIn % CellTask.RowsBetweenSizeChecks == 0) checkSize(start.bytes)
  }

  private def step(): Boolean = {
    metrics.enumerate.begin()
    val more = batch.next()
    metrics.enumerate.end()
    more
  }

  private def finish(): Unit = {
    finished = true
    net = null
    log.close()
    checkSize(start.bytes)
    metrics.rowsOwed = extent.owed
    metrics.rowsRemoved = log.removed
    metrics.logRows = extent.entries
    commit(CachedTree(tree, log.nextSequence, log.tail, start.extent), wayBack)
  }

  override def takeBack(): Option[CachedTree] =
    if (consumer == null) Some(start)
    else
      Option.when(!finished && wayBack != null && (consumer eq Thread.currentThread)) {
        finished = true
        batch.drain()
        wayBack()
      }

  private def absent(e: DeleteOfAbsentRow): Throwable = {
    val relation = spec.relations(e.relation)
    val text = RowText(spec.inputs(relation.input).columns, e.row.toArray)
    JoinlessErrors.deleteOfAbsentRow(relation.name, text, e.present, e.change)
  }
}

private object ChangelogTask {

  /** Results of different rows are different output rows: each stored column is shown, if only by one that is equated with it. */
  def showsAll(spec: BlockSpec): Boolean = {
    def attributesOf(c: ColumnRef) =
      spec.relations(c.relation).keys.collect { case k if k.ordinal == c.ordinal => k.attribute }
    val attributes = spec.output.flatMap(attributesOf).toSet
    val columns = spec.output.toSet
    spec.relations.indices.forall { r =>
      spec.inputs(spec.relations(r).input).columns.indices.forall { i =>
        val c = ColumnRef(r, i)
        columns(c) || attributesOf(c).exists(attributes)
      }
    }
  }
}
