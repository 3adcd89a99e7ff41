package io.joinless.spark.exec.cells

import io.joinless.engine.update.{ChangeBatch, Restoration, Reversal}
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.{NetRows, OutputRow, ResidualPredicates}
import io.joinless.spark.spec.{BlockSpec, ColumnRef, RowCodec}
import io.joinless.spark.state.cells.CellState
import io.joinless.spark.state.log.{LogEnd, LogExtent}
import io.joinless.spark.state.times.ExpiringRows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Cells of blocks whose rows can be deleted, by changelogs or because they expire: all results are
  * enumerated.
  */
private[spark] object ChangelogCell extends NettedCell[ViewTree, ChangelogState] {

  override def fits(spec: BlockSpec): Boolean =
    spec.retractable && spec.shape.reduction.isEmpty && spec.shape.sample.isEmpty

  override protected def views(spec: BlockSpec): ViewTree = new ViewTree(RowCodec.blockDef(spec))

  override protected def restoration(views: ViewTree): Restoration = new Restoration(views)

  override protected def state(
      spec: BlockSpec,
      views: ViewTree,
      end: LogEnd,
      extent: LogExtent,
      expiring: Option[ExpiringRows]
  ): ChangelogState = new ChangelogState(views, end, extent, expiring)

  override protected def newTask(context: CellContext, state: ChangelogState, rows: Iterator[InternalRow]): CellTask =
    new ChangelogTask(context, state, rows)
}

final private[spark] class ChangelogState(
    override val views: ViewTree,
    end: LogEnd,
    extent: LogExtent,
    expiring: Option[ExpiringRows]
) extends NettedState(end, extent, expiring) {
  override def at(end: LogEnd): ChangelogState = new ChangelogState(views, end, extent, expiring)
}

/** One batch in one cell of a block with changelogs: exchange rows with weights in, net changes of
  * the result out (algorithms A29 to A33, architecture D6).
  * {{{
  * exchange rows ──► ChangeBatch ──► net changes ──► counts after the batch ──► log
  * (all of them)     adds up             │
  *                                       │  deletions, changes of multiplicity, insertions
  *     results ± ◄───────────────────────┘
  *         └──► output row ──┬──────────────► out     every row has one sign
  *                           └──► NetRows ──► out     a row may have both signs
  * }}}
  * The whole batch is read and netted. The resulting count of each changed row is written to the
  * log. Then the changes of the result are enumerated, deletions first. ''Invariant'' (P11): no
  * output row is emitted with both signs. Where the order of the changes does not guarantee this,
  * the output is netted in memory before the first row is returned. Netting is not needed if all
  * changes have one sign. Nor is it needed if the output projects each stored column of each
  * relation (so that different results are different rows) and the batch says that no result
  * changes with both signs. If the output is not netted, equal rows may be emitted several times,
  * with one sign. Over R(k,x) ⋈ S(k,y) with R(7,1), S(7,5) and S(8,5), the batch −R(7,1) +R(8,1):
  * {{{
  * SELECT x, y        −(1,5) +(1,5)       k is not projected, so results can be equal rows:
  *                                        netted, nothing is emitted
  * SELECT k, x, y     −(7,1,5) +(8,1,5)   different results are different rows:
  *                                        emitted as they are enumerated
  * }}}
  * Cost: the batch in memory, netted; then the cost of its changes and of their results; if the
  * output is netted, its distinct rows in memory as well.
  */
final private class ChangelogTask(context: CellContext, before: ChangelogState, exchanged: Iterator[InternalRow])
    extends NettedTask(
      context,
      before,
      exchanged,
      ChangelogCell.firstBatch(context.spec),
      new Reversal(before.views)
    ) {
  import context._

  override protected val batch =
    new ChangeBatch(before.views, ResidualPredicates.compile(spec, residuals, arenaOf), negatives)
  private[this] val output = new OutputRow(spec, arenaOf, numbers = 1, before.views.words, before.views.location)
  private[this] var net: NetRows = null

  override protected def advance(): Boolean = batch.next(output.run)

  /** Returns the next row, with its weight; null after the last one. */
  private def nextRow(): UnsafeRow = {
    val ofRun = output.nextOfRun()
    if (ofRun != null) ofRun
    else if (step()) output.update(batch, batch.weight)
    else null
  }

  /** The next row with its weight, from the netted output if there is one; null after the last row.
    */
  override protected def emitNext(): UnsafeRow =
    if (net == null) nextRow()
    else if (net.next()) net.row
    else null

  /** Reads the batch; nets the output, where a row could be emitted with both signs (P11). */
  override protected def begin(): Unit = {
    super.begin()
    if (batch.bothSigns && (batch.repeats || !ChangelogTask.showsAll(spec))) {
      net = new NetRows(spec.output.size + 1)
      var row = nextRow()
      while (row != null) {
        net.add(row)
        row = nextRow()
      }
    }
  }

  override protected def close(): CellState = {
    net = null
    super.close()
  }
}

private object ChangelogTask {

  /** Whether different stored rows always give different output rows: each stored column, or a
    * column that is equated with it, is projected.
    */
  def showsAll(spec: BlockSpec): Boolean = {

    /** The attributes with which a stored column is equated. */
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
