package io.joinless.spark.state

import io.joinless.engine.tuples.{IntStack, PagedLongs}
import io.joinless.engine.update.NettedBatch

/** The undo log of a batch in a cell with changelogs: changes to the counts of its rows, and to the
  * extent of its log. A changed row is copied once for both: its id may be another row's when the
  * batch is rolled back.
  *
  * @param start the cell before the batch, which is changed in place
  */
final private[spark] class CellJournal(start: CellState) extends Undo {
  private[this] val views = start.views
  private[this] val extent = start.extent.get
  private[this] val (oldest, entries, live, credit, negatives) =
    (extent.oldest, extent.entries, extent.live, extent.credit, extent.negatives)
  private[this] val reversal = Views.reversal(views)

  // by note: the input of a row, the copy of the row, and its newest block before
  private[this] val inputs = new IntStack
  private[this] val copies = new IntStack
  private[this] val newest = new PagedLongs

  /** Notes the changes of a prepared batch; `each` is called with each changed row, its input and
    * its id.
    */
  def note(batch: NettedBatch)(each: (Int, Int) => Unit): Unit = batch.note(reversal, each)

  /** Notes the newest block of a row, before it changes. */
  def newestBlock(input: Int, row: Int): Unit = {
    newest(inputs.size) = extent.newestBlock(input, row)
    inputs.push(input)
    copies.push(reversal.copies.add(input, row))
  }

  /** Undoes the notes from the last one on: of a row that was noted twice, the first note counts.
    */
  override def apply(): CellState = {
    reversal.undo()
    while (!inputs.isEmpty) {
      val input = inputs.pop()
      val copy = copies.pop()
      val row = views.find(input, reversal.copies.content(input, copy), reversal.copies.words(input, copy))
      if (row >= 0) extent.setNewestBlock(input, row, newest(inputs.size))
    }
    extent.oldest = oldest
    extent.entries = entries
    extent.live = live
    extent.credit = credit
    extent.negatives = negatives
    start.expiring.foreach(_.rollBack(views))
    start
  }

  override def bytes: Long = reversal.bytes + inputs.bytes + copies.bytes + newest.bytes
}
