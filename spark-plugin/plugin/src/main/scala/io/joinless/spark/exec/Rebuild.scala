package io.joinless.spark.exec

import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{CellState, ChangeLogReader, LogExtent, RowCounts, RowWords, Views}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The views of what a cell's log holds: each append-only row as it comes, each changelog row with the counts of its
  * latest block, whatever the order of the blocks. Cost: that of inserting every row once; no results are enumerated.
  *
  * @param checkSize told the bytes of the views now and then; throws where that is too much
  * @param settled counted results are taken in; else they are there to be read
  */
final private class Rebuild(spec: BlockSpec, reader: ChangeLogReader, checkSize: Long => Unit, settled: Boolean) {
  private[this] val views = Views.empty(spec)
  private[this] val extent = new LogExtent(spec)
  private[this] val restoration = Views.restoration(views)
  private[this] val counts = new RowCounts(views.block)
  private[this] val allRoles =
    spec.inputs.indices.map(counts.relations(_).map(1L << _).foldLeft(0L)(_ | _)).toArray
  private[this] val words = new RowWords
  private[this] var rows = 0L

  def apply(blocks: Iterator[(UnsafeRow, UnsafeRow)]): CellState = {
    for ((key, value) <- blocks) {
      val sequence = key.getLong(0)
      reader.read(key, value) { (roles, weight, input, base, offset, bytes) =>
        if (spec.inputs(input).retractable) counted(sequence, roles, weight, input, base, offset, bytes)
        else restoration.load(roles, CellTask.append(views.arena(input), base, offset, bytes))
        rows += 1
        if (rows % CellTask.RowsBetweenSizeChecks == 0) checkSize(views.bytes)
      }
    }
    val next = reader.finish()
    survey()
    restoration.finish()
    if (settled) Views.restored(views)
    checkSize(views.bytes)
    CellState(views, next, reader.tail, Option.when(spec.retractable)(extent))
  }

  private def counted(
      sequence: Long,
      roles: Long,
      weight: Long,
      input: Int,
      base: AnyRef,
      offset: Long,
      bytes: Int
  ): Unit = {
    val row = restoration.find(input, words(base, offset, bytes), bytes >>> 3)
    val newest = extent.newestBlock(input, row)
    if (sequence > newest) {
      restoration.set(allRoles(input), row, 0L)
      extent.setNewestBlock(input, row, sequence)
    }
    if (sequence >= newest) restoration.set(roles, row, weight)
  }

  /** Counts what is live, while every row that the log mentions still has its id. */
  private def survey(): Unit = {
    extent.oldest = reader.oldestSequence
    extent.entries = reader.entries
    for (input <- spec.inputs.indices)
      if (!spec.inputs(input).retractable) extent.live += views.arena(input).live
      else
        for (row <- 0 until views.arena(input).limit) {
          counts.read(views, input, row)
          extent.live += counts.size
          if (counts.owed) extent.owed += 1
        }
  }
}
