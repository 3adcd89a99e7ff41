package io.joinless.spark.exec.cells

import scala.collection.mutable

import io.joinless.engine.update.{Forgetting, Restoration}
import io.joinless.engine.view.ViewTree
import io.joinless.spark.spec.{BlockSpec, RowCodec}
import io.joinless.spark.state.cells.CellState
import io.joinless.spark.state.log.{LogEnd, NeededBlocks, UntilNeeded}
import io.joinless.spark.state.times.{NeededRows, RowLifetimes}
import org.apache.spark.sql.catalyst.InternalRow

/** Cells of append-only blocks that evict rows: those that no later row can match (algorithms A53,
  * A54). Results that were emitted stay valid.
  */
private[spark] object ForgettingCell extends CellKind[ForgettingState] {

  override def fits(spec: BlockSpec): Boolean = spec.forgets
  override def isWeighted: Boolean = false
  override def endsRows(spec: BlockSpec): Boolean = true

  override def empty(spec: BlockSpec): ForgettingState = new ForgettingState(
    new ViewTree(RowCodec.blockDef(spec)),
    LogEnd.Empty,
    new NeededRows(spec),
    NeededBlocks.Empty
  )

  /** Rows that are needed no longer are left out: the log holds them until their block is removed.
    */
  override def rebuild(log: LogReplay): ForgettingState = {
    val tree = new ViewTree(RowCodec.blockDef(log.spec))
    val restoration = new Restoration(tree)
    val needed = new NeededRows(log.spec)
    val lifetimes = new RowLifetimes(log.spec)
    val blocks = new mutable.ArrayBuffer[NeededBlocks.Block]
    val end = log.foreachBlock(tree) { block =>
      var until = Long.MinValue
      block.foreachRow { (roles, _, input, base, offset, bytes) =>
        until = math.max(until, lifetimes.untilOfAll(roles, base, offset, bytes))
        val kept = lifetimes.needed(roles, log.watermark, base, offset, bytes)
        if (kept != 0L) {
          val row = CellTask.append(tree.arena(input), base, offset, bytes)
          restoration.load(kept, row)
          needed.inserted(kept, row, base, offset, bytes)
        }
      }
      blocks += NeededBlocks.Block(block.first, block.last, block.entries, until)
    }
    restoration.finish()
    log.checkSize(tree.bytes)
    new ForgettingState(tree, end, needed, NeededBlocks.of(blocks.toSeq))
  }

  override protected def newTask(context: CellContext, state: ForgettingState, rows: Iterator[InternalRow]): CellTask =
    new ForgettingTask(context, state, rows)
}

/** A view tree, and which of its rows are needed until when.
  *
  * @param needed the times until which rows are needed
  * @param blocks those of the log
  */
final private[spark] class ForgettingState(
    override val views: ViewTree,
    end: LogEnd,
    val needed: NeededRows,
    val blocks: NeededBlocks
) extends CellState(end) {
  override protected def bytesOfParts: Long = needed.bytes + blocks.bytes

  /** The tree holds evicted rows until the next batch begins. */
  override def rows: Long = views.rows - needed.evicted

  override def logRows: Long = blocks.entries
  override def nextEnd: Long = needed.next
}

/** One batch. Its rows are inserted and joined as in any append-only block. Then the rows that no
  * later row can match are evicted.
  *
  * Evicted rows emit nothing. Rows are evicted up to the watermark below which rows of later
  * batches are late, so a row of this batch can match a row that is evicted at the end of the
  * batch. Cost: that of an append-only batch; for each evicted row, that of a deletion whose
  * results are not enumerated.
  *
  * Rows that are needed no longer after a batch stay stored until the next batch begins, so a batch
  * can be rolled back as in any other block.
  */
final private class ForgettingTask(context: CellContext, before: ForgettingState, exchanged: Iterator[InternalRow])
    extends RowByRowTask(
      context,
      before,
      before.views,
      exchanged,
      ForgettingCell.firstBatch(context.spec),
      before.needed
    ) {
  import context._

  private[this] val needed = before.needed
  private[this] val entries =
    new UntilNeeded(spec, tree, before.blocks, needed, blocks, writer(before.log, weights = true), watermark)
  private[this] val cellLog = log(entries)
  metrics.propagate.once(needed.settle(tree, new Forgetting(tree)))

  /** Notes until when the row is needed, and writes it to the log. */
  override protected def stored(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    needed.inserted(roles, row, base, offset, bytes)
    entries.append(roles, base, offset, bytes)
  }

  /** Notes which rows are needed no longer, and cleans and closes the log. The rows themselves are
    * deleted when the next batch begins.
    */
  override protected def close(): CellState = {
    needed.advance(watermark)
    metrics.rowsForgotten = needed.evicted
    metrics.rowsRemoved = needed.evicted
    val end = cellLog.close()
    new ForgettingState(tree, end, needed, entries.inStore)
  }
}
