package io.joinless.spark.exec

import io.joinless.engine.view.RowStore

/** The size of a cell's state when it commits: `bytes` of its view tree, `storeBytes` of its state
  * store, and the least watermark at which it evicts a row, `nextForgotten`. Cells report to the
  * driver at each commit. A batch with several actions commits several times, and sizes must not be
  * added up over those commits.
  */
final case class CellSizes(
    cell: Int,
    rows: Long,
    negativeRows: Long,
    logRows: Long,
    liveTuples: Long,
    keys: Long,
    bytes: Long,
    storeBytes: Long,
    nextForgotten: Long,
    inputs: IndexedSeq[Long]
)

object CellSizes {

  private[exec] def apply(cell: Int, views: RowStore, bytes: Long, storeBytes: Long, figures: TaskMetrics): CellSizes =
    CellSizes(
      cell,
      views.rows - figures.rowsForgotten,
      figures.negativeRows,
      figures.logRows,
      views.liveTuples,
      views.keys,
      bytes,
      storeBytes,
      figures.nextForgotten,
      views.rowsOfInputs
    )

  /** @param reported in the order in which cells committed */
  def lastOfEachCell(reported: Seq[CellSizes]): Seq[CellSizes] = reported.groupBy(_.cell).values.map(_.last).toSeq

  /** The operator's metrics that are sizes, by name. */
  def figures(sizes: Seq[CellSizes]): Seq[(String, Long)] = Seq(
    OperatorMetrics.StoredRows -> sizes.map(_.rows).sum,
    OperatorMetrics.NegativeRows -> sizes.map(_.negativeRows).sum,
    OperatorMetrics.LogRows -> sizes.map(_.logRows).sum,
    OperatorMetrics.LiveTuples -> sizes.map(_.liveTuples).sum,
    OperatorMetrics.Keys -> sizes.map(_.keys).sum,
    OperatorMetrics.ArenaBytes -> sizes.map(_.bytes).sum,
    OperatorMetrics.NextEnd -> sizes.map(_.nextForgotten).filter(_ < Long.MaxValue).minOption.getOrElse(0L)
  )
}
