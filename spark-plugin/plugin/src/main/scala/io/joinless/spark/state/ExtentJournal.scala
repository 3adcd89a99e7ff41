package io.joinless.spark.state

import io.joinless.engine.tuples.{IntStack, PagedLongs}
import io.joinless.engine.update.RowCopies
import io.joinless.engine.view.ViewTree

/** What was known of a log before a batch, to know it again once the batch is taken back.
  *
  * Rows are noted by their content: when the batch is taken back, their ids may be others.
  */
final class ExtentJournal(tree: ViewTree, extent: LogExtent) {
  private[this] val (oldest, entries, live, credit, owed) =
    (extent.oldest, extent.entries, extent.live, extent.credit, extent.owed)
  private[this] val rows = new RowCopies(tree)
  private[this] val inputs = new IntStack
  private[this] val copies = new IntStack
  private[this] val newest = new PagedLongs

  /** The row's newest block is about to be another one. */
  def note(input: Int, row: Int): Unit = {
    newest(inputs.size) = extent.newestBlock(input, row)
    inputs.push(input)
    copies.push(rows.add(input, row))
  }

  /** To be called when the tree holds the rows from before. */
  def undo(): Unit = {
    while (!inputs.isEmpty) {
      val input = inputs.pop()
      val copy = copies.pop()
      val row = tree.find(input, rows.content(input, copy), rows.words(input, copy))
      if (row >= 0) extent.setNewestBlock(input, row, newest(inputs.size))
    }
    extent.oldest = oldest
    extent.entries = entries
    extent.live = live
    extent.credit = credit
    extent.owed = owed
  }

  def bytes: Long = rows.bytes + inputs.bytes + copies.bytes + newest.bytes
}
