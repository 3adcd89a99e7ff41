package io.joinless.spark.exec.cells

import io.joinless.engine.reduce.{ReducedBatch, ReducedJoin, RestoredResults}
import io.joinless.engine.update.Restoration
import io.joinless.spark.exec.rows.{ReducedOutput, ResidualPredicates}
import io.joinless.spark.spec.{BlockSpec, ReducedBlock}
import io.joinless.spark.state.log.{LogEnd, LogExtent}
import io.joinless.spark.state.times.ExpiringRows
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Cells of blocks whose results are counted, not enumerated: their views are sums per key
  * ([[ReducedJoin]]), without `V_s` and live views.
  */
private[spark] object ReducedCell extends NettedCell[ReducedJoin, ReducedState] {

  override def fits(spec: BlockSpec): Boolean = spec.shape.reduction.isDefined

  override protected def views(spec: BlockSpec): ReducedJoin =
    new ReducedJoin(ReducedBlock(spec.shape, spec.shape.reduction.get).definition)

  override protected def restoration(views: ReducedJoin): Restoration = views.restoration()

  override protected def state(
      spec: BlockSpec,
      views: ReducedJoin,
      end: LogEnd,
      extent: LogExtent,
      expiring: Option[ExpiringRows]
  ): ReducedState = new ReducedState(views, end, extent, expiring)

  /** The state of a cell, with the counts of all results. */
  override def rebuild(log: LogReplay): ReducedState = {
    val state = pending(log)
    new RestoredResults(state.views).drain()
    log.checkSize(state.views.bytes)
    state
  }

  /** The state of a cell; the counts of its results are pending, for a reader of them. */
  def pending(log: LogReplay): ReducedState = super.rebuild(log)

  override protected def newTask(context: CellContext, state: ReducedState, rows: Iterator[InternalRow]): CellTask =
    new ReducedTask(context, state, rows)
}

final private[spark] class ReducedState(
    override val views: ReducedJoin,
    end: LogEnd,
    extent: LogExtent,
    expiring: Option[ExpiringRows]
) extends NettedState(end, extent, expiring) {
  override def at(end: LogEnd): ReducedState = new ReducedState(views, end, extent, expiring)
}

/** One batch in one cell of a block whose results are counted. Exchange rows with weights in; out,
  * for each row that the block projects, the change of the number of its results. A row may be
  * emitted several times; the consumer adds up.
  *
  * Cost: the batch in memory, netted; then a step per tuple whose count changes, and per projected
  * row that changes. Results are never enumerated.
  */
final private class ReducedTask(context: CellContext, before: ReducedState, exchanged: Iterator[InternalRow])
    extends NettedTask(
      context,
      before,
      exchanged,
      ReducedCell.firstBatch(context.spec),
      ReducedBatch.reversal(before.views)
    ) {
  import context._

  private[this] val block = ReducedBlock(spec.shape, spec.shape.reduction.get)
  private[this] val sums = before.views

  override protected val batch =
    new ReducedBatch(sums, ResidualPredicates.compile(block.top, residuals, sums.projectedRows), negatives)
  private[this] val output = new ReducedOutput(spec, sums)

  override protected def begin(): Unit = {
    super.begin()
    metrics.propagate.once(batch.propagate())
  }

  override protected def emitNext(): UnsafeRow =
    if (step()) output.update(batch.rows, batch.changed, batch.element) else null
}
