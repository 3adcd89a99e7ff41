package io.joinless.spark.state

import java.nio.ByteOrder
import java.util.zip.CRC32C
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}
import org.apache.spark.unsafe.Platform

/** The durable state of a cell: a log of changes in blocks (architecture D5), `sequence → block` in one state store.
  *
  * '''Durable format, version 1.''' Sequence numbers count without gaps, from 0 where nothing was cleaned. All numbers are
  * little-endian.
  * {{{
  * block  = magic "JLCB" (4) | format version (2) | flags (2) | sequence (8) | cell (4) | entries (4) | CRC32C (4) | 0 (4) |
  *          oldest (8, only with flag 1) | entry*
  * entry  = roles (8) | weight (8, only with flag 1) | length in bytes (8) | row (length)
  * }}}
  * The checksum covers the block but itself and the four bytes behind it. A row is the bytes of an `UnsafeRow` in the
  * layout of its roles' input; its length is a multiple of 8. `roles` is the set of relations the row was added to.
  *
  * Flag 1, ''with weights'', is set in all blocks of a cell with a changelog input, and in no other. The entries of a row of a
  * changelog say how often it is there, not by how much that changed: they stand in one block, together they are all
  * its counts that are not 0 (and for roles that just became 0, an entry of weight 0), and those of the latest block hold. A
  * row of an append-only input is one entry of weight 1, each a row of its own. `oldest` is the number of the first block
  * that was still in the store when the block was written; that of the last block is that of the whole log.
  *
  * A block is closed at 64 KB, one with weights at 8 KB: it is cleaned as a whole, in a batch that may have few changes of
  * its own. Larger rows have a block of their own. Writing costs one copy of the row's bytes, reading
  * none: [[ChangeLogReader]] hands out where a row lies.
  */
object ChangeLog {
  val KeySchema: StructType = StructType(Seq(StructField("sequence", LongType)))
  val ValueSchema: StructType = StructType(Seq(StructField("block", BinaryType)))

  final val Magic = 0x42434c4a // "JLCB"
  final val Version = 1
  final val WeightFlag = 1
  final val BlockBytes = 64 * 1024
  final val WeightedBlockBytes = 8 * 1024
  final val HeaderBytes = 32
  final val WeightedHeaderBytes = 40

  final private[state] val VersionAt = 4
  final private[state] val FlagsAt = 6
  final private[state] val SequenceAt = 8
  final private[state] val CellAt = 16
  final private[state] val EntriesAt = 20
  final private[state] val ChecksumAt = 24
  final private[state] val ReservedAt = 28
  final private[state] val OldestAt = 32

  require(ByteOrder.nativeOrder == ByteOrder.LITTLE_ENDIAN, "rows and blocks are little-endian")

  private[state] def checksum(bytes: Array[Byte], from: Int, length: Int): Int = {
    val crc = new CRC32C
    crc.update(bytes, from, ChecksumAt)
    crc.update(bytes, from + HeaderBytes, length - HeaderBytes)
    crc.getValue.toInt
  }
}

/** Appends rows to the log of one cell.
  *
  * @param sequence number of the next block
  * @param put stores a block under its key; both rows are reused afterwards
  * @param weighted entries have weights
  */
final class ChangeLogWriter(
    cell: Int,
    private var sequence: Long,
    put: (UnsafeRow, UnsafeRow) => Unit,
    weighted: Boolean = false
) {
  import ChangeLog._

  /** Number of the first block in the store; stands in blocks with weights. */
  var oldest: Long = 0L

  private[this] val headerBytes = if (weighted) WeightedHeaderBytes else HeaderBytes
  private[this] val blockBytes = if (weighted) WeightedBlockBytes else BlockBytes

  // the value row itself: null word, offset and size of the block, block, padding
  final private[this] val BlockAt = 16
  private[this] var buffer = new Array[Byte](BlockAt + blockBytes)
  private[this] var length = headerBytes
  private[this] var entries = 0
  private[this] val key = UnsafeRow.createFromByteArray(16, 1)
  private[this] val value = new UnsafeRow(1)

  /** Number of the block that the next flush writes. */
  def nextSequence: Long = sequence

  /** Adds a row whose bytes stand at `offset` of `base`. */
  def append(roles: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    val size = 16 + bytes
    if (entries > 0 && length + size > BlockBytes) flush()
    if (BlockAt + length + size > buffer.length) buffer = java.util.Arrays.copyOf(buffer, BlockAt + length + size)
    val at = Platform.BYTE_ARRAY_OFFSET.toLong + BlockAt + length
    Platform.putLong(buffer, at, roles)
    Platform.putLong(buffer, at + 8, bytes.toLong)
    Platform.copyMemory(base, offset, buffer, at + 16, bytes)
    length += size
    entries += 1
  }

  /** Makes entries of one row stand in one block: `count` entries, of `bytes` bytes of row each. */
  def together(count: Int, bytes: Int): Unit = {
    val size = Math.multiplyExact(count, 24 + bytes)
    if (entries > 0 && length + size > blockBytes) flush()
    if (BlockAt + length + size > buffer.length) buffer = java.util.Arrays.copyOf(buffer, BlockAt + length + size)
  }

  /** Adds one of the entries that `together` has made room for; the block is number `nextSequence`. */
  def append(roles: Long, weight: Long, base: AnyRef, offset: Long, bytes: Int): Unit = {
    val at = Platform.BYTE_ARRAY_OFFSET.toLong + BlockAt + length
    Platform.putLong(buffer, at, roles)
    Platform.putLong(buffer, at + 8, weight)
    Platform.putLong(buffer, at + 16, bytes.toLong)
    Platform.copyMemory(base, offset, buffer, at + 24, bytes)
    length += 24 + bytes
    entries += 1
  }

  /** Forgets what was added since the last block. */
  def discard(): Unit = {
    entries = 0
    length = headerBytes
  }

  /** Stores what was added since the last block. */
  def flush(): Unit = if (entries > 0) {
    val at = Platform.BYTE_ARRAY_OFFSET.toLong + BlockAt
    Platform.putInt(buffer, at, Magic)
    Platform.putShort(buffer, at + VersionAt, Version.toShort)
    Platform.putShort(buffer, at + FlagsAt, (if (weighted) WeightFlag else 0).toShort)
    Platform.putLong(buffer, at + SequenceAt, sequence)
    Platform.putInt(buffer, at + CellAt, cell)
    Platform.putInt(buffer, at + EntriesAt, entries)
    Platform.putInt(buffer, at + ReservedAt, 0)
    if (weighted) Platform.putLong(buffer, at + OldestAt, oldest)
    Platform.putInt(buffer, at + ChecksumAt, checksum(buffer, BlockAt, length))
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET, 0L)
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + 8, BlockAt.toLong << 32 | length)
    value.pointTo(buffer, BlockAt + length)
    key.setLong(0, sequence)
    put(key, value)
    sequence += 1
    discard()
    if (buffer.length > 4 * blockBytes) buffer = new Array[Byte](BlockAt + blockBytes)
  }
}
