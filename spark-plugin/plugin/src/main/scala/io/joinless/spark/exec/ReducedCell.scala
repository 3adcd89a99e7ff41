package io.joinless.spark.exec

import io.joinless.engine.reduce.{ReducedBatch, ReducedJoin}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.engine.update.Restoration
import io.joinless.spark.spec.{BlockSpec, ReducedBlock, SumSpec}
import io.joinless.spark.state.{ExpiringRows, LogEnd, LogExtent}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Cells of blocks whose results are counted, not enumerated: sums instead of a view tree. */
private[spark] object ReducedCell extends NettedCell[ReducedJoin, ReducedState] {

  override def fits(spec: BlockSpec): Boolean = spec.shape.reduction.isDefined

  override protected def views(spec: BlockSpec): ReducedJoin =
    new ReducedJoin(ReducedBlock(spec.shape, spec.shape.reduction.get).definition)

  override protected def restoration(views: ReducedJoin): Restoration = views.restoration()

  override protected def state(
      views: ReducedJoin,
      end: LogEnd,
      extent: LogExtent,
      expiring: Option[ExpiringRows]
  ): ReducedState = new ReducedState(views, end, extent, expiring)

  /** The state of a cell, with the counts of all results. */
  override def rebuild(log: LogReplay): ReducedState = {
    val state = pending(log)
    state.views.restored()
    log.checkSize(state.views.bytes)
    state
  }

  /** The state of a cell; the counts of its results are pending, for a reader of them. */
  def pending(log: LogReplay): ReducedState = super.rebuild(log)

  override protected def start(context: CellContext, state: ReducedState, rows: Iterator[InternalRow]): CellTask =
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
final private class ReducedTask(context: CellContext, start: ReducedState, exchanged: Iterator[InternalRow])
    extends NettedTask(context, start, exchanged, ReducedCell.firstBatch(context.spec), start.views.reversal()) {
  import context._

  private[this] val block = ReducedBlock(spec.shape, spec.shape.reduction.get)
  private[this] val sums = start.views

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

/** The output of a block whose results are counted: rows of the projected columns, with the sums of
  * their results.
  *
  * @param spec with a reduction
  */
final private[spark] class ReducedOutput(spec: BlockSpec, sums: ReducedJoin) {
  private[this] val reduction = spec.shape.reduction.get
  private[this] val block = ReducedBlock(spec.shape, reduction)
  private[this] val output = new OutputRow(block.top, sums.projectedRows, numbers = block.failures.start)

  /** Returns the same row object each time. */
  def update(rows: Array[Int], changed: Long, element: Array[Long]): UnsafeRow = {
    block.failures.foreach(i => if (element(i) > 0) throw failed(reduction.failures(i - block.failures.start)))
    output.update(rows, changed, element)
  }

  /** The error of a result of which an argument fails. */
  private def failed(failure: SumSpec): Throwable = {
    val columns = failure.factors.map { c =>
      val relation = spec.relations(c.relation)
      (spec.inputs(relation.input).columns(c.ordinal).name, relation.name)
    }
    JoinlessErrors.argumentFails(columns.map(_._1).mkString(" and "), columns.map(_._2).distinct.mkString(" and "))
  }
}
