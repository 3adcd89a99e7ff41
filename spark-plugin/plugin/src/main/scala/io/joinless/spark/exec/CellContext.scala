package io.joinless.spark.exec

import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, ChangeLogReader, Undo}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.joinless.BlockStore

/** What a [[CellTask]] works with in its cell, besides the cell's state and the batch's rows.
  *
  * @param residuals over `spec.residuals(j).columns`, by position
  * @param weighted results have their weight as last column
  * @param owe rows of changelogs may be deleted before they are inserted
  * @param store of the log's blocks, opened at the version that the batch starts from
  * @param reader of blocks that are cleaned or merged
  * @param checkSize told the bytes of the state now and then, and before the commit; throws where that is too much
  * @param commit makes the batch durable; gets the state as it then is, and how to undo the batch
  * @param watermark the batch ends with it: rows of later batches are late up to it; milliseconds
  */
final private case class CellContext(
    spec: BlockSpec,
    residuals: Seq[Expression],
    cell: Int,
    store: BlockStore,
    reader: ChangeLogReader,
    checkSize: Long => Unit,
    commit: (CellState, Undo) => Unit,
    metrics: TaskMetrics,
    weighted: Boolean = false,
    owe: Boolean = false,
    watermark: Long = Long.MinValue
)
