package io.joinless.spark.exec.cells

import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.cells.StoredSample
import io.joinless.spark.state.log.{ChangeLogReader, LogEnd, LoggedBlock}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The log of a cell of which the state is rebuilt. Cost of a rebuild: that of inserting every row
  * once; no results are enumerated.
  *
  * @param blocks in any order
  * @param checkSize called with the bytes of the views from time to time; throws if they are too
  *   large
  * @param watermark where rows are evicted: rows that were needed no longer at this watermark are
  *   left out
  */
final private[spark] class LogReplay(
    val spec: BlockSpec,
    reader: ChangeLogReader,
    blocks: Iterator[(UnsafeRow, UnsafeRow)],
    val checkSize: Long => Unit,
    val watermark: Long = Long.MinValue
) {

  private[this] val sampled = new ArrayBuffer[(Long, Array[Byte])]

  /** The sampled results beside the blocks, by their numbers; known once the blocks were read. */
  def aside: collection.Seq[(Long, Array[Byte])] = sampled

  /** The error for one of these. */
  def damaged(number: Long, what: String): Throwable = reader.damaged(number, what)

  /** Calls `f` with each block, whose rows are added to `views`. Returns the end of the log. */
  def foreachBlock(views: RowStore)(f: LoggedBlock => Unit): LogEnd = {
    var checked = 0L
    for ((key, value) <- blocks) {
      if (StoredSample.isSample(key)) sampled += key.getLong(0) -> value.getBinary(0)
      else f(new LoggedBlock(key, value, reader))
      if (reader.entries - checked >= CellContext.RowsBetweenSizeChecks) {
        checked = reader.entries
        checkSize(views.bytes)
      }
    }
    reader.finish()
  }

  /** Of the blocks that were read: the number of the first one, and the number of their entries. */
  def oldest: Long = reader.oldestSequence
  def entries: Long = reader.entries
}
