package io.joinless.spark.state.log

import io.joinless.engine.update.NettedBatch
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.RowWords

/** Of a row with counts the entries of its newest block are valid, but those of count 0 (algorithms
  * A36 to A38, architecture D5); of an append-only row each entry is.
  *
  * Whenever a row changes, all its counts are written anew, so its latest block has all of them.
  * While there are more than twice as many entries as live ones, the oldest blocks are cleaned:
  * their live entries are written again, with their current counts, and the block is removed.
  * Nothing of a removed block is missed: blocks older than the oldest one were removed before, so
  * an entry of count 0 has nothing left to contradict.
  *
  * Each entry that a batch writes for its own changes pays for cleaning four. Unused credit is left
  * to later batches, up to a block. Blocks are cleaned whole: those that the batch itself pays for,
  * or one for which credit was saved. So in addition to its own entries a batch writes at most four
  * times as many, or those of one block; and once more those of the small blocks that are merged
  * into its last one ([[LogTail]]), without their outdated entries. A batch without changes writes
  * nothing; if no row is left, no block is.
  *
  * @param views with the batch's changes, when its log is closed
  * @param notes of the changes, if the batch may have to be rolled back
  */
final private[spark] class NewestCounts(
    spec: BlockSpec,
    views: RowStore,
    extent: LogExtent,
    blocks: StoredBlocks,
    writer: ChangeLogWriter,
    notes: Option[LogExtent.Notes]
) extends Retention(writer) {
  private[this] val counts = new RowCounts(views.block)
  private[this] val words = new RowWords
  private[this] var own = 0L
  private[this] var deletedRows = 0L
  private[this] var cleaned = 0L // entries of blocks that this batch has cleaned

  /** Rows that this batch has removed: none of their counts is left. */
  def deleted: Long = deletedRows

  override def oldest: Long = extent.oldest

  /** Writes an inserted row of an append-only input, with its roles (bit set). */
  def writeAppended(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    append(roles, base, offset, bytes)
    extent.live += 1
    own += 1
  }

  /** Writes an entry of an append-only row. */
  private def append(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    writer.together(1, bytes)
    writer.append(roles, 1L, base, offset, bytes)
    extent.entries += 1
  }

  /** Writes the counts that rows will have after a prepared batch.
    *
    * @return number of rows that change
    */
  def writeChanges(batch: NettedBatch): Long = {
    var rows = 0L
    def count(input: Int, row: Int): Unit = {
      write(batch, input, row)
      rows += 1
    }
    notes.fold(batch.foreachChangedRow(count))(n => batch.note(n.reversal, count))
    rows
  }

  /** Writes the counts that a row has after the batch, with an entry of count 0 for roles in which
    * it was deleted, and puts them in place of its counts before in the extent.
    */
  private def write(batch: NettedBatch, input: Int, row: Int): Unit = {
    val relations = counts.relations(input)
    var deleted = 0L
    counts.clear()
    var i = 0
    while (i < relations.length) { counts.add(relations(i), batch.before(relations(i), row)); i += 1 }
    extent.live -= counts.size
    if (counts.hasNegatives) extent.negatives -= 1
    counts.clear()
    i = 0
    while (i < relations.length) {
      val after = batch.after(relations(i), row)
      counts.add(relations(i), after)
      if (after == 0 && batch.before(relations(i), row) != 0) deleted |= 1L << relations(i)
      i += 1
    }
    extent.live += counts.size
    if (counts.hasNegatives) extent.negatives += 1
    if (counts.size == 0) deletedRows += 1
    own += counts.size + (if (deleted != 0L) 1 else 0)
    writeCounts(input, row, deleted)
  }

  /** Writes the entries of `counts`, one per count, and one for the roles whose count became 0. */
  private def writeCounts(input: Int, row: Int, deleted: Long): Unit = {
    val arena = views.arena(input)
    val bytes = 8 * arena.words(row)
    val offset = RowWords.offset(arena, row)
    val size = counts.size + (if (deleted != 0L) 1 else 0)
    writer.together(size, bytes)
    var g = 0
    while (g < counts.size) {
      writer.append(counts.roles(g), counts.count(g), arena.page(row), offset, bytes)
      g += 1
    }
    if (deleted != 0L) writer.append(deleted, 0L, arena.page(row), offset, bytes)
    extent.entries += size
    notes.foreach(_.newestBlock(input, row))
    extent.setNewestBlock(input, row, writer.nextSequence)
  }

  override def isUnchanged: Boolean = own == 0

  override def begin(): Unit = if (views.rows == 0) removeAll() else extent.credit += NewestCounts.EntriesPerOwn * own

  override def isMostlyOutdated: Boolean = extent.entries > 2 * extent.live

  /** A batch may clean one block for which the saved credit suffices; further ones only if its own
    * entries pay for all of them.
    */
  override def pays(entries: Int): Boolean =
    entries <= extent.credit && (cleaned == 0L || cleaned + entries <= NewestCounts.EntriesPerOwn * own) && {
      extent.credit -= entries
      cleaned += entries
      true
    }

  override def removed(block: LoggedBlock): Unit = {
    extent.entries -= block.entries
    extent.oldest = block.last + 1
  }

  /** What is not spent is left for later batches, up to a limit. */
  override def end(): Unit = extent.credit = math.min(extent.credit, LogExtent.MostCredit)

  /** Of an append-only input the entry itself is written again, of a changelog all current counts
    * of its row. After that the row's newest block is the one being written, so its other entries
    * in the oldest block are outdated.
    */
  override def keep(block: LoggedBlock): ChangeLogReader.Entry = {
    val last = block.last
    (roles, _, input, base, offset, bytes) =>
      if (!spec.inputs(input).retractable) append(roles, base, offset, bytes)
      else {
        val row = find(input, base, offset, bytes)
        if (row >= 0 && isLatest(input, row, block.first, last)) {
          counts.read(views, input, row)
          writeCounts(input, row, deleted = 0L)
        }
      }
  }

  /** Writes an entry of a merged block again if it is valid. The row's newest block stays the
    * recorded one, since a merged block has the numbers of all that it replaces.
    */
  override def merge(block: LogTail.Block): ChangeLogReader.Entry = (roles, weight, input, base, offset, bytes) =>
    if (isValid(block, weight, input, base, offset, bytes)) {
      writer.together(1, bytes)
      writer.append(roles, weight, base, offset, bytes)
    } else extent.entries -= 1

  /** The id of the present row with these bytes; −1 if there is none. */
  private def find(input: Int, base: AnyRef, offset: Long, bytes: Int): Int =
    views.find(input, words(base, offset, bytes), bytes >>> 3)

  /** Whether a merged block must keep an entry of `block`, one of the blocks that it replaces: the
    * first line that applies.
    * {{{
    * row of an append-only input                    yes
    * count 0, the block is the log's oldest         no: nothing older is left to contradict
    * count 0, the row is deleted                    yes: older blocks may have counts of it
    * count other than 0, the row is deleted         no
    * the row is present                             if the block has its latest entries
    * }}}
    */
  private def isValid(
      block: LogTail.Block,
      weight: Long,
      input: Int,
      base: AnyRef,
      offset: Long,
      bytes: Int
  ): Boolean = !spec.inputs(input).retractable || {
    val row = find(input, base, offset, bytes)
    if (weight == 0L && block.first == extent.oldest) false
    else if (row < 0) weight == 0L // deleted
    else isLatest(input, row, block.first, block.last)
  }

  /** Whether the block with these numbers has the row's latest entries. */
  private def isLatest(input: Int, row: Int, first: Long, last: Long): Boolean = {
    val newest = extent.newestBlock(input, row)
    first <= newest && newest <= last
  }

  /** Removes all blocks, as no row is left, those that the batch has written too. */
  private def removeAll(): Unit = {
    writer.discard()
    while (extent.oldest < writer.nextSequence) {
      val block = blocks(extent.oldest)
      extent.oldest = block.last + 1
      blocks.remove(block.first)
    }
    extent.entries = 0
    extent.live = 0
    extent.credit = LogExtent.MostCredit
  }
}

private[state] object NewestCounts {
  final private val EntriesPerOwn = 4
}
