package io.joinless.spark.exec

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.engine.update.{ChangeBatch, DeleteOfAbsentRow}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.spec.{BlockSpec, ColumnRef}
import io.joinless.spark.state.{CellJournal, CellState, CountLog, Undo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** One batch in one cell of a block with changelogs: exchange rows with weights in, net changes of the result out
  * (algorithms A29 to A33, architecture D6).
  * {{{
  * exchange rows ──► ChangeBatch ──► net changes ──► counts after the batch ──► log
  * (all of them)     adds up           │
  *                                     ▼  deletions, changes of multiplicity, insertions
  *                                  results ± ──► output row ──┬──────────────► out     every row has one sign
  *                                                             └──► NetRows ──► out     a row may have both signs
  * }}}
  * The whole batch is read and netted; what it leaves of each row is written to the log; then the changes of the result
  * are enumerated, deletions first. ''Invariant'' (P11): no output row comes with both signs. Where the order of the
  * changes does not see to that, the output is netted in memory before the first row is handed out. It need not be
  * where all changes have one sign, or where the output shows each stored column of each relation (so that different
  * results are different rows) and the batch says that no result changes with both signs. Not netted, equal rows may
  * come several times, with one sign. Over R(k,x) ⋈ S(k,y) with R(7,1), S(7,5) and S(8,5), the batch −R(7,1) +R(8,1):
  * {{{
  * SELECT x, y        −(1,5) +(1,5)         k is not shown, so results can be equal rows: netted, nothing is handed out
  * SELECT k, x, y     −(7,1,5) +(8,1,5)     different results are different rows: handed out as they are met
  * }}}
  * Cost: the batch in memory, netted; then that of its changes and of their results; where the output is netted, its
  * different rows in memory as well.
  */
final private class ChangelogTask(context: CellContext, start: CellState, input: Iterator[InternalRow])
    extends CellTask(context, start, input) {
  import context._

  private[this] val extent = start.extent.get
  private[this] val first = tree.rows == 0 && extent.entries == 0
  private[this] val journal = if (first) None else Some(new CellJournal(start))
  private[this] val log = new CountLog(spec, cell, start, extent, store, reader, journal)
  private[this] val batch = new ChangeBatch(tree, ResidualPredicates.compile(spec, residuals, arenaOf), owe)
  private[this] val output = new OutputRow(spec, arenaOf, weighted = true)
  private[this] val weightAt = spec.output.size
  private[this] var words = new Array[Long](64)

  private[this] var undo: Undo = null // once the batch is prepared
  private[this] var net: NetRows = null
  private[this] var begun = false

  override protected def emit(): UnsafeRow =
    try {
      if (!begun) begin()
      if (net == null) { if (step()) output.update(batch.rows, batch.changed, batch.weight) else null }
      else nextNet()
    } catch {
      case e: DeleteOfAbsentRow => throw absent(e)
      case _: WeightOverflow => throw JoinlessErrors.weightOverflow()
    }

  private def nextNet(): UnsafeRow =
    if (!net.next()) null
    else {
      net.row.setLong(weightAt, net.weight)
      net.row
    }

  private def begin(): Unit = {
    begun = true
    while (takeNext()) {}
    batch.prepare()
    val changed = log.writeChanges(batch)
    undo = journal.getOrElse(new FirstBatch(spec))
    metrics.rowsNetted -= changed // counted as taken so far; what is left after netting goes off
    if (batch.bothSigns && (batch.repeats || !ChangelogTask.showsAll(spec))) {
      net = new NetRows(weightAt + 1)
      while (step()) net.add(output.update(batch.rows, batch.changed, 0L), batch.weight)
    }
  }

  override protected def take(exchanged: UnsafeRow, input: Int, roles: Long, offset: Long, bytes: Int): Unit = {
    val count = bytes >>> 3
    if (words.length < count) words = new Array[Long](2 * count)
    Platform.copyMemory(exchanged.getBaseObject, offset, words, Platform.LONG_ARRAY_OFFSET, bytes)
    metrics.propagate.begin()
    batch.add(input, roles, exchanged.getLong(ExchangeRow.Weight), words, count)
    metrics.propagate.end()
    if (spec.inputs(input).retractable) metrics.rowsNetted += 1
    else log.writeAppended(roles, exchanged.getBaseObject, offset, bytes)
  }

  private def step(): Boolean = {
    metrics.enumerate.begin()
    val more = batch.next()
    metrics.enumerate.end()
    more
  }

  override protected def close(): (CellState, Undo) = {
    net = null
    log.close()
    checkSize(start.bytes)
    metrics.rowsOwed = extent.owed
    metrics.rowsRemoved = log.removed
    metrics.logRows = extent.entries
    CellState(tree, log.nextSequence, log.tail, start.extent) -> undo
  }

  override protected def takenBack(): Option[CellState] = Option.when(undo != null) {
    batch.drain()
    undo()
  }

  private def absent(e: DeleteOfAbsentRow): Throwable = {
    val relation = spec.relations(e.relation)
    val text = RowText(spec.inputs(relation.input).columns, e.row.toArray)
    JoinlessErrors.deleteOfAbsentRow(relation.name, text, e.present, e.change)
  }
}

private object ChangelogTask {

  /** Whether different stored rows always give different output rows: each stored column is shown, itself or by one that is
    * equated with it.
    */
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
