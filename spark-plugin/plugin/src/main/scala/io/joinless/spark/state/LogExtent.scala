package io.joinless.spark.state

import io.joinless.engine.tuples.PagedInts
import io.joinless.spark.spec.BlockSpec

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

  def setNewestBlock(input: Int, row: Int, sequence: Long): Unit =
    newest(input)(row) = Math.toIntExact(sequence + 1)

  def bytes: Long = newest.iterator.filter(_ != null).map(_.bytes).sum
}

object LogExtent {

  /** Entries that a block can have. */
  val MostCredit: Long = ChangeLog.WeightedBlockBytes / 24
}
