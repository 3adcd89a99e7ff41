package io.joinless.spark.state.log

import io.joinless.engine.tuples.{IntStack, PagedInts, PagedLongs}
import io.joinless.engine.update.Reversal
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.Rollback

/** Figures of a log with weights that its blocks do not hold: kept with the cell's tree, and
  * computed anew when that is rebuilt.
  *
  * ''Entries'' are (row, roles with the same count); ''live'' ones are valid. An entry of a
  * changelog row is live if its block is the row's newest one and its weight is not 0; one of an
  * append-only row always is.
  */
final class LogExtent(spec: BlockSpec) {

  /** Number of the first block in the store. */
  var oldest = 0L

  /** Entries in the store, and those of them that are live. */
  var entries = 0L
  var live = 0L

  /** Entries that may be cleaned in return for earlier writes. A log that was read anew starts with
    * as many as a block can have, or else cells that are rebuilt in every batch would never save up
    * for one.
    */
  var credit: Long = LogExtent.MostCredit

  /** Rows of changelogs with a negative count in some relation. */
  var negatives = 0L

  private[this] val newest: Array[PagedInts] = spec.inputs.map(i => if (i.retractable) new PagedInts else null).toArray

  /** A number of the block that has the row's latest entries, −1 if none was recorded. */
  def newestBlock(input: Int, row: Int): Long = newest(input)(row) - 1L

  /** Records the block that has the row's latest entries. */
  def setNewestBlock(input: Int, row: Int, sequence: Long): Unit =
    newest(input)(row) = Math.toIntExact(sequence + 1)

  def bytes: Long = newest.iterator.filter(_ != null).map(_.bytes).sum
}

object LogExtent {

  /** Entries that a block can have. */
  val MostCredit: Long = ChangeLog.WeightedBlockBytes / 24

  /** The figures before a batch, and the newest blocks of rows that it changes. A changed row is
    * copied once for this and for the reversal: its id may be another row's when the batch is
    * rolled back.
    */
  final private[spark] class Notes(extent: LogExtent, val reversal: Reversal) extends Rollback {
    private[this] val (oldest, entries, live, credit, negatives) =
      (extent.oldest, extent.entries, extent.live, extent.credit, extent.negatives)

    // by note: the input of a row, the copy of the row, and its newest block before
    private[this] val inputs = new IntStack
    private[this] val copies = new IntStack
    private[this] val newest = new PagedLongs

    /** Notes the newest block of a row, before it changes. */
    def newestBlock(input: Int, row: Int): Unit = {
      newest(inputs.size) = extent.newestBlock(input, row)
      inputs.push(input)
      copies.push(reversal.copies.add(input, row))
    }

    /** From the last note on: of a row that was noted twice, the first note counts. */
    override def rollBack(views: RowStore): Unit = {
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
    }

    override def bytesToRollBack: Long = inputs.bytes + copies.bytes + newest.bytes
  }
}
