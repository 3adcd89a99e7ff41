package io.joinless.spark.state.log

/** Which entries of a log are valid, and when blocks are cleaned: what differs between logs. A
  * [[CellLog]] asks it at the end of a batch. It writes entries with the batch's writer.
  */
abstract private[spark] class Retention(val writer: ChangeLogWriter) {

  /** Number of the first block in the store. */
  def oldest: Long

  /** Whether the batch changed nothing, so that the log stays as it is. */
  def isUnchanged: Boolean = false

  /** Called once, before blocks are cleaned. May remove blocks of which no entry is valid. */
  def begin(): Unit = ()

  /** Whether too many entries are outdated. */
  def isMostlyOutdated: Boolean

  /** Whether this batch may clean the oldest block; if so, charges its entries to the log's credit.
    *
    * @param entries the number of the block's entries
    */
  def pays(entries: Int): Boolean

  /** Writes entries of the oldest block again if they are valid. */
  def keep(block: LoggedBlock): ChangeLogReader.Entry

  /** The oldest block was removed. */
  def removed(block: LoggedBlock): Unit

  /** Whether the batch must write a block even if it has no entries: a block says which one is the
    * oldest.
    */
  def mustWrite: Boolean = false

  /** Writes entries of a block that is merged into the last one again if they are valid. */
  def merge(block: LogTail.Block): ChangeLogReader.Entry

  /** The last block of the batch was written, if there was one to write. */
  def end(): Unit = ()
}
