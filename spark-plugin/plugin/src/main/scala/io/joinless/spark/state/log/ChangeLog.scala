package io.joinless.spark.state.log

import java.nio.ByteOrder
import java.util.zip.CRC32C

import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}

/** The durable state of a cell: a log of changes in blocks, `sequence → block` in one state store
  * (algorithms A36 to A39, architecture D5). The cell's view tree has the content of the log;
  * nothing else of a cell is durable.
  *
  * An append-only row is an entry, and no later entry revokes it. For a changelog row, the newest
  * block with an entry of the row is valid. Here are three rows, of one role each, with their
  * multiplicities:
  * {{{
  * block 0: a 1, b 1      block 1: a 2      block 2: b 0, c 1
  *
  * so the multiplicity of a is 2, that of c is 1, and b is deleted
  *
  * 5 entries, of which 2 are live: more than twice as many, so block 0, the oldest, is cleaned.
  * Nothing in it is the newest entry of its row, so it is removed. Had it held a row d that no
  * later block names, d would be written again. "b 0" was there to contradict block 0; it is
  * dropped when its own block is cleaned.
  * }}}
  * Invariant (P13): the newest entries of all rows fold to the counts of the tree; neither cleaning
  * nor merging drops one that is not 0. Cost: appending is a copy of the row's bytes; a batch reads
  * blocks only to clean or merge them.
  *
  * '''Durable format, version 1.''' Sequence numbers count without gaps, from 0 if nothing was
  * cleaned. All numbers are little-endian.
  * {{{
  * block  = magic "JLCB" (4) | format version (2) | flags (2) | sequence (8) | cell (4) |
  *          entries (4) | CRC32C (4) | 0 (4) |
  *          oldest (8, only with flag 1) | last (8, only with flag 2) | entry*
  * entry  = roles (8) | weight (8, only with flag 1) | length in bytes (8) | row (length)
  * }}}
  * The checksum covers the block but itself and the four bytes after it. A row is the bytes of an
  * `UnsafeRow` in the layout of its roles' input; its length is a multiple of 8. `roles` is the set
  * of relations the row was added to.
  *
  * Flag 1, ''with weights'', is set in all blocks of a cell that has a changelog input or evicts
  * rows, and in no other. The entries of a changelog row have its multiplicities, not their
  * changes. They are in one block, and together they are all its counts that are not 0 (and for
  * roles that just became 0, an entry of weight 0); those of the latest block are valid. A row of
  * an append-only input is one entry of weight 1, each a row of its own. If rows are evicted, it is
  * valid for the roles in which the row is still needed at the watermark of the version that is
  * read. `oldest` is the number of the first block that was still in the store when the block was
  * written; that of the last block is that of the whole log.
  *
  * Flag 2, ''merged'': the block replaces several that were written before, numbers `sequence` to
  * `last` ([[LogTail]]).
  *
  * A block is closed at 64 KB, one with weights at 8 KB: it is cleaned as a whole, in a batch that
  * may have few changes of its own. Larger rows have a block of their own. Writing costs one copy
  * of the row's bytes, reading none: [[ChangeLogReader]] returns the position of a row.
  */
object ChangeLog {
  val KeySchema: StructType = StructType(Seq(StructField("sequence", LongType)))
  val ValueSchema: StructType = StructType(Seq(StructField("block", BinaryType)))

  final val Magic = 0x42434c4a // "JLCB"
  final val Version = 1
  final val WeightFlag = 1
  final val MergedFlag = 2
  final val BlockBytes = 64 * 1024
  final val WeightedBlockBytes = 8 * 1024
  final val HeaderBytes = 32
  final val WeightedHeaderBytes = 40

  /** Bytes of the header, but for `last`. */
  def headerBytes(weighted: Boolean): Int = if (weighted) WeightedHeaderBytes else HeaderBytes

  /** Bytes of entries that a block has room for. */
  def capacity(weighted: Boolean): Int =
    (if (weighted) WeightedBlockBytes else BlockBytes) - headerBytes(weighted)

  /** Bytes of entries that a merged block has at most. This is enough to make the cost of its key
    * and header negligible, and no more, since larger blocks would cost more copies.
    */
  def mergedCapacity(weighted: Boolean): Int = capacity(weighted) / 4

  final private[state] val VersionAt = 4
  final private[state] val FlagsAt = 6
  final private[state] val SequenceAt = 8
  final private[state] val CellAt = 16
  final private[state] val EntriesAt = 20
  final private[state] val ChecksumAt = 24
  final private[state] val ReservedAt = 28
  final private[state] val OldestAt = 32

  require(ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN, "rows and blocks are little-endian")

  /** The checksum of a block of `length` bytes, which begins at `from`. */
  private[state] def checksum(bytes: Array[Byte], from: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(bytes, from, ChecksumAt)
    crc.update(bytes, from + HeaderBytes, length - HeaderBytes)
    crc.getValue.toInt
  }
}
