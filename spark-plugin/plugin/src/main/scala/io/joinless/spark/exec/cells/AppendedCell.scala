package io.joinless.spark.exec.cells

import io.joinless.engine.update.Restoration
import io.joinless.engine.view.ViewTree
import io.joinless.spark.spec.{BlockSpec, RowCodec}
import io.joinless.spark.state.cells.CellState
import io.joinless.spark.state.log.{EveryEntry, LogEnd}
import org.apache.spark.sql.catalyst.InternalRow

/** Cells of append-only blocks: rows are inserted, and no row is ever removed. */
private[spark] object AppendedCell extends CellKind[AppendedState] {

  override def fits(spec: BlockSpec): Boolean = !spec.retractable && !spec.forgets
  override def isWeighted: Boolean = false
  override def endsRows(spec: BlockSpec): Boolean = false

  override def empty(spec: BlockSpec): AppendedState =
    new AppendedState(new ViewTree(RowCodec.blockDef(spec)), LogEnd.Empty)

  /** Inserts every row of the log. */
  override def rebuild(log: LogReplay): AppendedState = {
    val tree = new ViewTree(RowCodec.blockDef(log.spec))
    val restoration = new Restoration(tree)
    val end = log.foreachBlock(tree)(_.foreachRow((roles, _, input, base, offset, bytes) =>
      restoration.load(roles, CellTask.append(tree.arena(input), base, offset, bytes))
    ))
    restoration.finish()
    log.checkSize(tree.bytes)
    new AppendedState(tree, end)
  }

  override protected def newTask(context: CellContext, state: AppendedState, rows: Iterator[InternalRow]): CellTask =
    new AppendedTask(context, state, rows)
}

final private[spark] class AppendedState(
    override val views: ViewTree,
    end: LogEnd,
    override val before: Option[IndexedSeq[Int]] = None
) extends CellState(end) {
  override protected def bytesOfParts: Long = 0L
  override def logRows: Long = views.rows
}

/** One batch: each row is an entry of the log, and no block is ever cleaned. */
final private class AppendedTask(context: CellContext, before: AppendedState, exchanged: Iterator[InternalRow])
    extends RowByRowTask(context, before, before.views, exchanged, AppendedCell.firstBatch(context.spec)) {
  import context._

  // ids of rows that were rolled back are reused in any order
  private[this] val limits = Option.when(arenas.forall(a => a.live == a.limit))(arenas.map(_.limit).toIndexedSeq)
  private[this] val entries = writer(before.log, weights = false)

  override protected def stored(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit =
    entries.append(roles, base, offset, bytes)

  override protected def close(): CellState =
    new AppendedState(tree, log(new EveryEntry(entries)).close(), limits)
}
