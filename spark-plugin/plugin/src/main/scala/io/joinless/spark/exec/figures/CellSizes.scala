package io.joinless.spark.exec.figures

import io.joinless.spark.state.cells.CellState

/** The size of a cell's state when it commits: `bytes` of its state in memory, `storeBytes` of its
  * state store, and the least watermark at which a row is evicted or expires, `nextEnd`. Cells
  * report to the driver at each commit. A batch with several actions commits several times, and
  * sizes must not be added up over those commits.
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
    nextEnd: Long,
    inputs: IndexedSeq[Long],
    results: Option[BigInt]
)

object CellSizes {

  /** Of the state when its batch ends; `storeBytes` once that is committed. */
  private[exec] def apply(cell: Int, state: CellState, storeBytes: Long): CellSizes = CellSizes(
    cell,
    state.rows,
    state.negativeRows,
    state.logRows,
    state.views.liveTuples,
    state.views.keys,
    state.bytes,
    storeBytes,
    state.nextEnd,
    state.views.rowsOfInputs,
    state.results
  )

  /** The newest report of each cell.
    *
    * @param reported in the order in which cells committed
    */
  def lastOfEachCell(reported: Seq[CellSizes]): Seq[CellSizes] = reported.groupBy(_.cell).values.map(_.last).toSeq

  /** The number of results of all cells, at most the greatest long; None where it is not known. */
  def results(sizes: Seq[CellSizes]): Option[Long] =
    Option.when(sizes.nonEmpty && sizes.forall(_.results.isDefined))(
      sizes.flatMap(_.results).sum.min(BigInt(Long.MaxValue)).toLong
    )

  /** The operator's metrics that are sizes, by name. */
  def figures(sizes: Seq[CellSizes]): Seq[(String, Long)] = Seq(
    OperatorMetrics.StoredRows -> sizes.map(_.rows).sum,
    OperatorMetrics.NegativeRows -> sizes.map(_.negativeRows).sum,
    OperatorMetrics.LogRows -> sizes.map(_.logRows).sum,
    OperatorMetrics.LiveTuples -> sizes.map(_.liveTuples).sum,
    OperatorMetrics.Keys -> sizes.map(_.keys).sum,
    OperatorMetrics.ArenaBytes -> sizes.map(_.bytes).sum,
    OperatorMetrics.NextEnd -> sizes.map(_.nextEnd).filter(_ < Long.MaxValue).minOption.getOrElse(0L)
  )
}
