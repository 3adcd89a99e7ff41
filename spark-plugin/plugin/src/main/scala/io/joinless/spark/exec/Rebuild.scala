package io.joinless.spark.exec

import scala.collection.mutable

import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{
  CellState,
  ChangeLogReader,
  ExpiringRows,
  LogExtent,
  NeededBlocks,
  NeededRows,
  RowCounts,
  RowLifetimes,
  RowWords,
  Views
}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Rebuilds views from a cell's log: each append-only row as it is read, each changelog row with
  * the counts of its latest block, whatever the order of the blocks. Cost: that of inserting every
  * row once; no results are enumerated.
  *
  * @param checkSize called with the bytes of the views from time to time; throws if they are too
  *   large
  * @param settled true: pending counts are folded in; false: they are left to the caller
  * @param watermark rows that were needed no longer at this watermark are left out
  */
final private class Rebuild(
    spec: BlockSpec,
    reader: ChangeLogReader,
    checkSize: Long => Unit,
    settled: Boolean,
    watermark: Long
) {
  private[this] var views = Views.empty(spec)
  private[this] var extent = new LogExtent(spec)
  private[this] var restoration = Views.restoration(views)
  private[this] val counts = new RowCounts(views.block)
  private[this] val allRoles =
    spec.inputs.indices.map(counts.relations(_).map(1L << _).foldLeft(0L)(_ | _)).toArray
  private[this] val words = new RowWords
  private[this] var rows = 0L
  private[this] var (rowsMentioned, rowsThere) = (0L, 0L) // of rows that are counted

  private[this] val expiring = if (spec.expires) new ExpiringRows(spec) else null

  // where rows are evicted
  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val needed = if (spec.forgets) new NeededRows(spec) else null
  private[this] val logged = new mutable.ArrayBuffer[NeededBlocks.Block]
  private[this] var until = Long.MinValue // of the block that is being read

  def apply(blocks: Iterator[(UnsafeRow, UnsafeRow)]): CellState = {
    for ((key, value) <- blocks) {
      val sequence = key.getLong(0)
      reader.read(key, value) { (roles, weight, input, base, offset, bytes) =>
        if (spec.inputs(input).retractable) counted(sequence, roles, weight, input, base, offset, bytes)
        else if (needed != null) stillNeeded(roles, input, base, offset, bytes)
        else restoration.load(roles, CellTask.append(views.arena(input), base, offset, bytes))
        rows += 1
        if (rows % CellTask.RowsBetweenSizeChecks == 0) checkSize(views.bytes)
      }
      if (needed != null) endBlock(sequence, value)
    }
    val next = reader.finish()
    survey()
    if (rowsThere < rowsMentioned / CellState.Roomy && spec.inputs.forall(_.retractable)) pack()
    restoration.finish()
    if (expiring != null) expiring.restore(views)
    if (settled) Views.restored(views)
    checkSize(views.bytes)
    CellState(
      views,
      next,
      reader.tail,
      Option.when(spec.retractable)(extent),
      Option(needed),
      neededBlocks,
      Option(expiring)
    )
  }

  private def stillNeeded(roles: Long, input: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    until = math.max(until, lifetimes.untilOfAll(roles, base, offset, bytes))
    val kept = lifetimes.needed(roles, watermark, base, offset, bytes)
    if (kept != 0L) {
      val row = CellTask.append(views.arena(input), base, offset, bytes)
      restoration.load(kept, row)
      needed.inserted(kept, row, base, offset, bytes)
    }
  }

  private def neededBlocks: NeededBlocks = logged.sortBy(_.first).foldLeft(NeededBlocks.Empty)(_ :+ _)

  private def endBlock(sequence: Long, block: UnsafeRow): Unit = {
    logged += NeededBlocks.Block(
      sequence,
      ChangeLogReader.lastOf(sequence, block),
      ChangeLogReader.entriesOf(block),
      until
    )
    until = Long.MinValue
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

  /** Counts live entries, while every row that the log mentions still has its id. */
  private def survey(): Unit = {
    extent.oldest = reader.oldestSequence
    extent.entries = reader.entries
    for (input <- spec.inputs.indices)
      if (!spec.inputs(input).retractable) extent.live += views.arena(input).live
      else
        for (row <- 0 until views.arena(input).limit) {
          counts.read(views, input, row)
          if (extent.newestBlock(input, row) >= 0) rowsMentioned += 1
          if (counts.size > 0) rowsThere += 1
          extent.live += counts.size
          if (counts.hasNegatives) extent.negatives += 1
        }
  }

  /** Moves the present rows to views of their own, which are smaller. Called where most rows of the
    * log have no counts.
    */
  private def pack(): Unit = {
    val (allViews, allExtent) = (views, extent)
    views = Views.empty(spec)
    restoration = Views.restoration(views)
    extent = new LogExtent(spec)
    extent.oldest = allExtent.oldest
    extent.entries = allExtent.entries
    extent.live = allExtent.live
    extent.negatives = allExtent.negatives
    for (input <- spec.inputs.indices; row <- 0 until allViews.arena(input).limit) {
      counts.read(allViews, input, row)
      if (counts.size > 0) {
        val arena = allViews.arena(input)
        val moved = restoration.find(input, words(arena, row), arena.words(row))
        for (g <- 0 until counts.size) restoration.set(counts.roles(g), moved, counts.count(g))
        extent.setNewestBlock(input, moved, allExtent.newestBlock(input, row))
      }
    }
  }
}
