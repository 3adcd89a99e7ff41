package io.joinless.spark.state.log

import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.times.{NeededRows, RowLifetimes}

/** An entry is valid until no later batch needs its row (algorithms A54).
  *
  * The eviction of a row is not written: it follows from the watermark. So an entry stays until its
  * block is removed, and a reader at a later watermark leaves it out. The oldest block is removed
  * without being read when the last of its rows is needed no longer. A row that is needed for long
  * can hold up the blocks after it. If there are more than twice as many entries as rows, such a
  * row is written again and its block is removed. Blocks are removed in order: the last block of
  * the log has the number of the first one.
  *
  * Each row that was inserted or evicted pays for cleaning four entries, and each batch for a
  * block. The last block that is cleaned may cost more than is left. So a batch writes at most five
  * times as many entries as rows were inserted, in addition to those of blocks, and to the blocks
  * that are merged into its last one ([[LogTail]]).
  *
  * @param start the blocks before the batch
  * @param needed the rows that the batch evicts, when its log is closed
  * @param watermark milliseconds; the watermark at the end of the batch
  */
final private[spark] class UntilNeeded(
    spec: BlockSpec,
    views: RowStore,
    start: NeededBlocks,
    needed: NeededRows,
    blocks: StoredBlocks,
    writer: ChangeLogWriter,
    watermark: Long
) extends Retention(writer) {
  import NeededBlocks.Block

  private[this] val firstOfBatch = writer.nextSequence
  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] var log = start
  private[this] var own = 0L
  private[this] var credit = 0L // entries that may be read
  private[this] var removedAny = false

  // the block that is being written: it is number `current`, and replaces all from `first`
  private[this] var current = firstOfBatch
  private[this] var first = current
  private[this] var entries = 0
  private[this] var until = Long.MinValue

  /** All blocks in the store. */
  def inStore: NeededBlocks = log

  override def oldest: Long = log.oldest.fold(current)(_.first)

  /** Writes an inserted row in those of its roles (bit set) in which a later batch may need it;
    * nothing if there is none.
    */
  def append(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    own += 1
    writeNeeded(roles, base, offset, bytes)
  }

  /** Writes a row with those of the roles in which it is needed after this batch. */
  private def writeNeeded(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    val kept = lifetimes.needed(roles, watermark, base, offset, bytes)
    if (kept != 0L) write(kept, base, offset, bytes)
  }

  /** Writes a row in these roles, to the block under way or to a new one. */
  private def write(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    writer.together(1, bytes)
    if (writer.nextSequence > current) endBlock()
    writer.append(roles, 1L, base, offset, bytes)
    entries += 1
    until = math.max(until, lifetimes.untilOfAll(roles, base, offset, bytes))
  }

  /** Notes the block that was written last, and begins the next one. */
  private def endBlock(): Unit = {
    log :+= Block(first, current, entries, until)
    current = writer.nextSequence
    first = current
    entries = 0
    until = Long.MinValue
  }

  override def begin(): Unit = {
    removeUnread()
    credit = UntilNeeded.EntriesPerRow * (own + needed.evicted) + LogExtent.MostCredit
  }

  /** Removes blocks from before this batch, from the oldest on, as long as none of their rows is
    * needed.
    */
  private def removeUnread(): Unit =
    while (log.oldest.exists(block => block.first < firstOfBatch && block.until <= watermark)) {
      blocks.remove(log.blocks.head.first)
      removedOldest()
    }

  /** Notes that the oldest block was removed. */
  private def removedOldest(): Unit = {
    log = log.withoutOldest
    removedAny = true
  }

  /** Whether more than half of the log's entries are not needed. */
  override def isMostlyOutdated: Boolean = log.entries + entries > 2 * (views.rows - needed.evicted)

  /** Any block, as long as credit is left: the last one may cost more. */
  override def pays(entries: Int): Boolean = credit > 0 && {
    credit -= entries
    true
  }

  override def keep(block: LoggedBlock): ChangeLogReader.Entry = again

  /** Writes an entry again in the roles in which its row is needed. */
  private def again: ChangeLogReader.Entry =
    (roles, _, _, base, offset, bytes) => writeNeeded(roles, base, offset, bytes)

  override def removed(block: LoggedBlock): Unit = {
    removedOldest()
    removeUnread()
  }

  /** Blocks were removed and nothing was written: a block must say which one is the oldest now. */
  override def mustWrite: Boolean = entries == 0 && removedAny && log.oldest.isDefined

  /** The block is replaced by the one being written. Blocks are merged from the last one on. */
  override def merge(block: LogTail.Block): ChangeLogReader.Entry = {
    require(log.blocks.last.first == block.first, s"block ${block.first} of the log is not known")
    log = log.withoutLast
    first = block.first
    again
  }

  override def end(): Unit = if (writer.nextSequence > current) endBlock()
}

private[state] object UntilNeeded {
  final private val EntriesPerRow = 4L
}
