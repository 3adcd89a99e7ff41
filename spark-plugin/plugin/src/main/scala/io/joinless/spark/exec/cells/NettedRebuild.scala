package io.joinless.spark.exec.cells

import io.joinless.engine.update.Restoration
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.Roles
import io.joinless.spark.state.RowWords
import io.joinless.spark.state.cells.CellState
import io.joinless.spark.state.log.{LogEnd, LogExtent, LoggedBlock, RowCounts}

/** Views of rows with counts, from the log of their cell. Of a row's blocks only the newest one is
  * valid, whatever the order in which they are read; until all are read, a row may have counts that
  * are outdated, or none.
  *
  * @param empty creates views without rows
  * @param restorationOf fills such views
  */
final private class NettedRebuild[V <: RowStore](log: LogReplay, empty: () => V, restorationOf: V => Restoration) {
  private[this] val inputs = log.spec.inputs
  private[this] var views = empty()
  private[this] var extent = new LogExtent(log.spec)
  private[this] var restoration = restorationOf(views)
  private[this] val counts = new RowCounts(views.block)
  private[this] val allRoles = inputs.indices.map(i => Roles.of(counts.relations(i))).toArray
  private[this] val words = new RowWords
  private[this] var (rowsMentioned, rowsThere) = (0L, 0L) // of rows that are counted

  /** Reads the log: the views, the figures by which the log is cleaned, and the end of the log.
    * Called once.
    */
  def apply(): (V, LogExtent, LogEnd) = {
    val end = log.foreachBlock(views)(read)
    survey()
    if (rowsThere < rowsMentioned / CellState.Roomy && inputs.forall(_.retractable)) pack()
    restoration.finish()
    (views, extent, end)
  }

  /** Reads the rows of a block; blocks may come in any order. */
  private def read(block: LoggedBlock): Unit = block.foreachRow { (roles, weight, input, base, offset, bytes) =>
    if (inputs(input).retractable) count(block.first, roles, weight, input, base, offset, bytes)
    else restoration.load(roles, CellTask.append(views.arena(input), base, offset, bytes))
  }

  /** Sets the count of a row in these roles, unless a newer block has its counts. */
  private def count(
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
    extent.oldest = log.oldest
    extent.entries = log.entries
    for (input <- inputs.indices)
      if (!inputs(input).retractable) extent.live += views.arena(input).live
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
    views = empty()
    restoration = restorationOf(views)
    extent = new LogExtent(log.spec)
    extent.oldest = allExtent.oldest
    extent.entries = allExtent.entries
    extent.live = allExtent.live
    extent.negatives = allExtent.negatives
    for (input <- inputs.indices; row <- 0 until allViews.arena(input).limit) {
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
