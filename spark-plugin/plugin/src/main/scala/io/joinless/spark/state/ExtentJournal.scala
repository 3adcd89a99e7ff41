package io.joinless.spark.state

import io.joinless.engine.tuples.{IntStack, PagedLongs, TupleArena}
import io.joinless.engine.view.ViewTree

/** What was known of a log before a batch, to know it again once the batch is taken back.
  *
  * Rows are noted by their content: when the batch is taken back, their ids may be others.
  */
final class ExtentJournal(tree: ViewTree, extent: LogExtent) {
  private[this] val (oldest, entries, live, credit, owed) =
    (extent.oldest, extent.entries, extent.live, extent.credit, extent.owed)
  private[this] val rows =
    tree.block.inputs.map(i => if (i.changelog) new TupleArena(i.fixedWords) else null).toArray
  private[this] val inputs = new IntStack
  private[this] val copies = new IntStack
  private[this] val newest = new PagedLongs

  /** The row's newest block is about to be another one. */
  def note(input: Int, row: Int): Unit = {
    val arena = tree.arena(input)
    newest(inputs.size) = extent.newestBlock(input, row)
    inputs.push(input)
    copies.push(rows(input).append(arena.page(row), arena.start(row), arena.words(row)))
  }

  /** To be called when the tree holds the rows from before. */
  def undo(): Unit = {
    var words = new Array[Long](16)
    while (!inputs.isEmpty) {
      val input = inputs.pop()
      val copy = copies.pop()
      val arena = rows(input)
      val count = arena.words(copy)
      if (words.length < count) words = new Array[Long](2 * count)
      System.arraycopy(arena.page(copy), arena.start(copy), words, 0, count)
      val row = tree.find(input, words, count)
      if (row >= 0) extent.setNewestBlock(input, row, newest(inputs.size))
    }
    extent.oldest = oldest
    extent.entries = entries
    extent.live = live
    extent.credit = credit
    extent.owed = owed
  }

  def bytes: Long = rows.iterator.filter(_ != null).map(_.bytes).sum + inputs.bytes + copies.bytes + newest.bytes
}
