package io.joinless.spark.state.log

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.BlockStore
import org.apache.spark.unsafe.Platform

/** Appends rows to the log of one cell.
  *
  * @param before the end of the log, where rows are appended
  * @param store the log's blocks
  * @param weighted entries have weights
  */
final class ChangeLogWriter(
    cell: Int,
    before: LogEnd,
    store: BlockStore,
    weighted: Boolean = false
) {
  import ChangeLog._

  private[this] var sequence = before.nextSequence
  private[this] var blocks = before.tail
  private[this] var oldestBlock = 0L
  private[this] val header = headerBytes(weighted)
  private[this] val room = capacity(weighted)
  private[this] val mergedRoom = mergedCapacity(weighted)

  // the value row itself: null word, offset and size of the block, block, padding. Entries always
  // start at the same position: a row whose block has no `last` begins eight bytes later.
  final private[this] val BlockAt = 16
  private[this] val entriesAt = BlockAt + header + 8
  private[this] var buffer = new Array[Byte](entriesAt + room)
  private[this] var length = 0 // of the entries
  private[this] var entries = 0
  private[this] val key = UnsafeRow.createFromByteArray(16, 1)
  private[this] val value = new UnsafeRow(1)

  /** Number of the block that the next flush writes. */
  def nextSequence: Long = sequence

  /** The end of the log. */
  def end: LogEnd = LogEnd(sequence, blocks)

  /** Sets the number of the first block in the store, which is written in blocks with weights. */
  def cleanedUntil(oldest: Long): Unit = {
    oldestBlock = oldest
    blocks = blocks.from(oldest)
  }

  /** Adds an entry: a row in these roles (bit set), whose bytes are at `offset` of `base`. For a
    * log without weights.
    */
  def append(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    makeRoom(16 + bytes)
    val at = position
    Platform.putLong(buffer, at, roles)
    Platform.putLong(buffer, at + 8, bytes.toLong)
    Platform.copyMemory(base, offset, buffer, at + 16, bytes)
    added(16 + bytes)
  }

  /** Makes room for the entries of one row in one block: `count` entries, of `bytes` bytes of row
    * each.
    */
  def together(count: Int, bytes: Int): Unit = makeRoom(Math.multiplyExact(count, 24 + bytes))

  /** Adds one of the entries that `together` has made room for: the roles (bit set) in which the
    * row has the multiplicity `weight`. Its block is number `nextSequence`.
    */
  def append(roles: Long, weight: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    val at = position
    Platform.putLong(buffer, at, roles)
    Platform.putLong(buffer, at + 8, weight)
    Platform.putLong(buffer, at + 16, bytes.toLong)
    Platform.copyMemory(base, offset, buffer, at + 24, bytes)
    added(24 + bytes)
  }

  /** The address in the buffer at which the next entry begins. */
  private def position: Long = Platform.BYTE_ARRAY_OFFSET.toLong + entriesAt + length

  /** Makes room for entries of so many bytes; a block that they do not fit into is stored first. */
  private def makeRoom(bytes: Int): Unit = {
    if (entries > 0 && length + bytes > room) flush()
    val size = entriesAt + length + bytes
    if (size > buffer.length) buffer = java.util.Arrays.copyOf(buffer, size)
  }

  /** Counts an entry, of so many bytes, as a part of the block. */
  private def added(bytes: Int): Unit = {
    length += bytes
    entries += 1
  }

  /** Discards the entries added since the last block. */
  def discard(): Unit = {
    entries = 0
    length = 0
  }

  /** Stores the entries added since the last block. */
  def flush(): Unit = if (entries > 0) write(sequence)

  /** Ends a batch: stores the entries added since the last block, merged with blocks before it
    * ([[LogTail]]).
    *
    * @param reader of the blocks that are merged into the last one
    * @param always writes a block even if nothing was added: then the block says which one is the
    *   oldest, and nothing else
    * @param again given a block, adds those of its entries again that are valid
    */
  def close(reader: ChangeLogReader, always: Boolean = false)(
      again: LogTail.Block => ChangeLogReader.Entry
  ): Unit = if (always || entries > 0) {
    var first = sequence
    var taken = blocks.mergedInto(length, mergedRoom)
    while (taken.isDefined) {
      first = taken.get.first
      key.setLong(0, first)
      val block = store.get(key)
      if (block == null) throw reader.missing(first)
      reader.read(key, block)(again(taken.get))
      store.remove(key)
      blocks = blocks.withoutLast
      taken = blocks.mergedInto(length, mergedRoom)
    }
    write(first)
  }

  /** Stores a block for the numbers from `first` to that of the next block. The entries stay where
    * they are in the buffer. Only a merged block has `last` before them; without it, the value (an
    * `UnsafeRow` of one column, the block) begins 8 bytes later.
    * {{{
    * merged        NULL bits | offset, length | header           | last | entries
    * not merged                NULL bits      | offset, length | header | entries
    * }}}
    */
  private def write(first: Long): Unit = {
    val merged = first < sequence
    val rowStart = if (merged) 0 else 8
    val blockBytes = (if (merged) header + 8 else header) + length
    val blockStart = Platform.BYTE_ARRAY_OFFSET.toLong + rowStart + BlockAt
    Platform.putInt(buffer, blockStart, Magic)
    Platform.putShort(buffer, blockStart + VersionAt, Version.toShort)
    val flags = (if (weighted) WeightFlag else 0) | (if (merged) MergedFlag else 0)
    Platform.putShort(buffer, blockStart + FlagsAt, flags.toShort)
    Platform.putLong(buffer, blockStart + SequenceAt, first)
    Platform.putInt(buffer, blockStart + CellAt, cell)
    Platform.putInt(buffer, blockStart + EntriesAt, entries)
    Platform.putInt(buffer, blockStart + ReservedAt, 0)
    if (weighted) Platform.putLong(buffer, blockStart + OldestAt, oldestBlock)
    if (merged) Platform.putLong(buffer, blockStart + header, sequence)
    Platform.putInt(buffer, blockStart + ChecksumAt, checksum(buffer, rowStart + BlockAt, blockBytes))
    Platform.putLong(buffer, blockStart - BlockAt, 0L)
    Platform.putLong(buffer, blockStart - 8, BlockAt.toLong << 32 | blockBytes)
    value.pointTo(buffer, blockStart - BlockAt, BlockAt + blockBytes)
    key.setLong(0, first)
    store.put(key, value)
    blocks = blocks.append(LogTail.Block(first, sequence, length), mergedRoom)
    sequence += 1
    discard()
    if (buffer.length > 4 * (entriesAt + room)) buffer = new Array[Byte](entriesAt + room)
  }
}
