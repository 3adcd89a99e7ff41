package io.joinless.spark.exec.cells

import scala.reflect.ClassTag

import io.joinless.engine.update.Restoration
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.cells.CellState
import io.joinless.spark.state.log.{LogEnd, LogExtent}
import io.joinless.spark.state.times.ExpiringRows

/** Cells whose rows are counted and whose batches are netted ([[NettedTask]]): what those kinds
  * have in common.
  *
  * @tparam V their views
  */
abstract private[exec] class NettedCell[V <: RowStore, S <: NettedState: ClassTag] extends CellKind[S] {

  final override def isWeighted: Boolean = true
  final override def endsRows(spec: BlockSpec): Boolean = spec.expires

  /** Views without rows. */
  protected def views(spec: BlockSpec): V

  /** Fills such views. */
  protected def restoration(views: V): Restoration

  /** The state that consists of these parts.
    *
    * @param end where the log goes on with the next batch
    * @param extent the figures by which the log is cleaned
    * @param expiring the times at which rows expire, if some do
    */
  protected def state(
      spec: BlockSpec,
      views: V,
      end: LogEnd,
      extent: LogExtent,
      expiring: Option[ExpiringRows]
  ): S

  final override def empty(spec: BlockSpec): S =
    state(spec, views(spec), LogEnd.Empty, new LogExtent(spec), expiring(spec))

  /** Inserts each append-only row as it is read, and each other row with the counts of its newest
    * block.
    */
  override def rebuild(log: LogReplay): S = {
    val (present, extent, end) = new NettedRebuild(log, () => views(log.spec), restoration)()
    val expires = expiring(log.spec)
    expires.foreach(_.restore(present))
    log.checkSize(present.bytes)
    state(log.spec, present, end, extent, expires)
  }

  /** The times at which rows expire, still without rows; None if no row does. */
  private def expiring(spec: BlockSpec): Option[ExpiringRows] = Option.when(spec.expires)(new ExpiringRows(spec))
}

/** The state of a cell whose rows are counted, but for its views.
  *
  * @param extent the figures by which the log is cleaned
  * @param expiring the times at which rows expire, if some do
  */
abstract private[spark] class NettedState(end: LogEnd, val extent: LogExtent, val expiring: Option[ExpiringRows])
    extends CellState(end) {

  override protected def bytesOfParts: Long = extent.bytes + expiring.fold(0L)(_.bytes)
  final override def logRows: Long = extent.entries
  final override def negativeRows: Long = extent.negatives
  final override def nextEnd: Long = expiring.fold(Long.MaxValue)(_.next(views))

  /** The state after a batch, with this end of the log. */
  def at(end: LogEnd): CellState
}
