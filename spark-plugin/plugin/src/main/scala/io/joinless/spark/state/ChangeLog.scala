package io.joinless.spark.state

import java.nio.ByteOrder
import java.util.zip.CRC32C
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{BinaryType, LongType, StructField, StructType}
import org.apache.spark.unsafe.Platform

/** The durable state of a cell: a log of changes in blocks (architecture D5), `sequence → block` in one state store.
  *
  * '''Durable format, version 1.''' Sequence numbers count from 0 without gaps. All numbers are little-endian.
  * {{{
  * block  = magic "JLCB" (4) | format version (2) | flags (2) | sequence (8) | cell (4) | entries (4) | CRC32C (4) | 0 (4) | entry*
  * entry  = roles (8) | weight (8, only with flag 1) | length in bytes (8) | row (length)
  * }}}
  * The checksum covers the block but itself and the four bytes behind it. A row is the bytes of an `UnsafeRow` in the
  * layout of its roles' input; its length is a multiple of 8. `roles` is the set of relations the row was added to.
  *
  * A block is closed at 64 KB; a larger row has a block of its own. Writing costs one copy of the row's bytes, reading
  * none: [[ChangeLogReader]] hands out where a row lies. Order matters only once weights are logged (later entries win).
  */
object ChangeLog {
  val KeySchema: StructType = StructType(Seq(StructField("sequence", LongType)))
  val ValueSchema: StructType = StructType(Seq(StructField("block", BinaryType)))

  final val Magic = 0x42434c4a // "JLCB"
  final val Version = 1
  final val WeightFlag = 1
  final val BlockBytes = 64 * 1024
  final val HeaderBytes = 32

  final private[state] val VersionAt = 4
  final private[state] val FlagsAt = 6
  final private[state] val SequenceAt = 8
  final private[state] val CellAt = 16
  final private[state] val EntriesAt = 20
  final private[state] val ChecksumAt = 24
  final private[state] val ReservedAt = 28

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
  */
final class ChangeLogWriter(cell: Int, private var sequence: Long, put: (UnsafeRow, UnsafeRow) => Unit) {
  import ChangeLog._

  // the value row itself: null word, offset and size of the block, block, padding
  final private[this] val BlockAt = 16
  private[this] var buffer = new Array[Byte](BlockAt + BlockBytes)
  private[this] var length = HeaderBytes
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

  /** Stores what was added since the last block. */
  def flush(): Unit = if (entries > 0) {
    val at = Platform.BYTE_ARRAY_OFFSET.toLong + BlockAt
    Platform.putInt(buffer, at, Magic)
    Platform.putShort(buffer, at + VersionAt, Version.toShort)
    Platform.putShort(buffer, at + FlagsAt, 0)
    Platform.putLong(buffer, at + SequenceAt, sequence)
    Platform.putInt(buffer, at + CellAt, cell)
    Platform.putInt(buffer, at + EntriesAt, entries)
    Platform.putInt(buffer, at + ChecksumAt, checksum(buffer, BlockAt, length))
    Platform.putInt(buffer, at + ReservedAt, 0)
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET, 0L)
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + 8, BlockAt.toLong << 32 | length)
    value.pointTo(buffer, BlockAt + length)
    key.setLong(0, sequence)
    put(key, value)
    sequence += 1
    entries = 0
    length = HeaderBytes
    if (buffer.length > 4 * BlockBytes) buffer = new Array[Byte](BlockAt + BlockBytes)
  }
}
