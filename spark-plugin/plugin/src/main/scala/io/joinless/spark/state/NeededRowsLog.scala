package io.joinless.spark.state

import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.BlockStore

/** The log of a cell that evicts rows, for one batch: writes inserted rows, removes rows that are
  * not needed (algorithms A54).
  *
  * The eviction of a row is not written: it follows from the watermark. So an entry stays until its
  * block is removed, and a reader at a later watermark leaves it out. The oldest block is removed
  * without being read when the last of its rows is needed no longer. A row that is needed for long
  * can hold up the blocks after it. If there are more than twice as many entries as rows, such a
  * row is written again and its block is removed. Blocks are removed in order: the last block of
  * the log has the number of the first one.
  *
  * Each row that was inserted or evicted pays for cleaning four entries. So a batch writes at most
  * five times as many entries as rows were inserted, in addition to the blocks that are merged into
  * its last one ([[LogTail]]).
  *
  * @param watermark milliseconds; the watermark at the end of the batch
  */
final private[spark] class NeededRowsLog(
    spec: BlockSpec,
    cell: Int,
    start: CellState,
    store: BlockStore,
    reader: ChangeLogReader,
    watermark: Long
) {
  import NeededBlocks.Block

  private[this] var log = start.blocks
  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val writer = new ChangeLogWriter(cell, start.nextSequence, store, weighted = true, start.tail)
  private[this] val key = UnsafeRow.createFromByteArray(16, 1)
  private[this] var own = 0L
  private[this] var removedAny = false

  // the block that is being written: it is number `current`, and replaces all from `first`
  private[this] var current = start.nextSequence
  private[this] var first = current
  private[this] var entries = 0
  private[this] var until = Long.MinValue

  noteOldest()

  def nextSequence: Long = writer.nextSequence
  def tail: LogTail = writer.tail

  /** All blocks in the store. */
  def blocks: NeededBlocks = log

  /** Writes an inserted row; nothing is written if no later batch needs it. */
  def append(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    own += 1
    writeNeeded(roles, base, offset, bytes)
  }

  /** Writes a row with those of the roles in which it is needed after this batch. */
  private def writeNeeded(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    val kept = lifetimes.needed(roles, watermark, base, offset, bytes)
    if (kept != 0L) write(kept, base, offset, bytes)
  }

  private def write(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    writer.together(1, bytes)
    if (writer.nextSequence > current) endBlock()
    writer.append(roles, 1L, base, offset, bytes)
    entries += 1
    until = math.max(until, lifetimes.untilOfAll(roles, base, offset, bytes))
  }

  private def endBlock(): Unit = {
    log :+= Block(first, current, entries, until)
    current = writer.nextSequence
    first = current
    entries = 0
    until = Long.MinValue
  }

  /** Removes blocks and entries that are not needed, and stores.
    *
    * @param rows number of present rows
    * @param forgotten rows that this batch evicts
    */
  def close(rows: Long, forgotten: Long): Unit = {
    removeUnread()
    clean(rows, NeededRowsLog.EntriesPerRow * (own + forgotten) + LogExtent.MostCredit)
    val nothingNew = entries == 0
    writer.close(reader, always = nothingNew && removedAny && log.oldest.isDefined) { taken =>
      val block = log.blocks.last
      log = log.withoutLast
      first = block.first
      require(block.first == taken.first, s"block ${taken.first} of the log is not known")
      (roles, _, _, base, offset, bytes) => writeNeeded(roles, base, offset, bytes)
    }
    if (writer.nextSequence > current) endBlock()
  }

  /** Removes blocks from before this batch, from the oldest on, as long as none of their rows is
    * needed.
    */
  private def removeUnread(): Unit =
    while (oldestBefore.exists(_.until <= watermark)) removeOldest()

  /** The oldest block, if it was written before this batch. */
  private def oldestBefore: Option[Block] = log.oldest.filter(_.first < start.nextSequence)

  /** Writes the needed rows of the oldest blocks again and removes these blocks, while more than
    * half of the log's entries are not needed. The last block may cost more than what is left of
    * `credit`.
    *
    * @param rows number of present rows
    * @param credit entries that may be read
    */
  private def clean(rows: Long, credit: Long): Unit = {
    var creditLeft = credit
    while (log.entries + entries > 2 * rows && oldestBefore.isDefined && creditLeft > 0) {
      val block = oldestBefore.get
      creditLeft -= block.entries
      key.setLong(0, block.first)
      val bytes = store.get(key)
      if (bytes == null) throw reader.missing(block.first)
      reader.read(key, bytes)((roles, _, _, base, offset, length) => writeNeeded(roles, base, offset, length))
      removeOldest()
      removeUnread()
    }
  }

  private def removeOldest(): Unit = {
    key.setLong(0, log.blocks.head.first)
    log = log.withoutOldest
    store.remove(key)
    removedAny = true
    noteOldest()
  }

  private def noteOldest(): Unit =
    writer.cleanedUntil(log.oldest.fold(current)(_.first))
}

private object NeededRowsLog {
  final private val EntriesPerRow = 4L
}
