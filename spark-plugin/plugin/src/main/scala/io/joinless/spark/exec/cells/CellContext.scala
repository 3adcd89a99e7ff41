package io.joinless.spark.exec.cells

import io.joinless.spark.exec.figures.TaskMetrics
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.cells.{CellState, Undo}
import io.joinless.spark.state.log.{CellLog, ChangeLogReader, ChangeLogWriter, LogEnd, Retention, StoredBlocks}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.joinless.BlockStore

/** The environment of a [[CellTask]] in its cell, apart from the cell's state and the batch's rows.
  *
  * @param residuals over `spec.residuals(j).columns`, by position
  * @param weighted results have their weight as last column
  * @param negatives rows of changelogs may be deleted before they are inserted
  * @param store of the log's blocks, opened at the version that the batch starts from
  * @param reader of blocks that are cleaned or merged
  * @param checkSize called with the bytes of the state from time to time, and before the commit;
  *   throws if the state is too large
  * @param commit makes the batch durable; gets the state after the batch, and how to undo the batch
  * @param number of the batch
  * @param watermark the watermark at the end of the batch: rows of later batches are late up to it;
  *   milliseconds
  */
final private[exec] case class CellContext(
    spec: BlockSpec,
    residuals: Seq[Expression],
    cell: Int,
    store: BlockStore,
    reader: ChangeLogReader,
    checkSize: Long => Unit,
    commit: (CellState, Undo) => Unit,
    metrics: TaskMetrics,
    weighted: Boolean = false,
    negatives: Boolean = false,
    watermark: Long = Long.MinValue,
    number: Long = 0L
) {

  /** The blocks of the cell's log. */
  val blocks = new StoredBlocks(store, reader)

  /** Appends to a log, of which this is the end.
    *
    * @param weights entries have weights
    */
  def writer(end: LogEnd, weights: Boolean): ChangeLogWriter =
    new ChangeLogWriter(cell, end, store, weights)

  /** The log whose valid entries this decides. */
  def log(retention: Retention): CellLog = new CellLog(blocks, reader, retention)
}

private[exec] object CellContext {

  /** The number of rows after which the size of the state is checked again. */
  final val RowsBetweenSizeChecks = 8192
}
