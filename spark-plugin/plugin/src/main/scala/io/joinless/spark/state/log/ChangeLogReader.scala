package io.joinless.spark.state.log

import scala.collection.mutable

import io.joinless.spark.spec.{BlockSpec, Roles, RowCodec}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Reads blocks of one cell's log, strictly: a block is complete and correct, or `corrupt(sequence,
  * what)` is thrown before any of its rows is returned. Blocks are read in any order.
  *
  * Checked are magic, version and flags, sequence and cell (a block under the wrong key), the
  * checksum, that entries fill the block exactly, that a row's roles are relations of one input and
  * its length fits that input, that a row of an append-only input has weight 1; and, by `finish`,
  * that no block is missing and none is left that should have been removed.
  *
  * @param keep the roles of a row to return. An append-only row without such roles is not returned.
  *   Of a changelog's row either none of its entries is, or all, if need be without a role: the log
  *   is folded by whole rows, and an entry of unwanted roles still outdates older ones
  */
final class ChangeLogReader(
    spec: BlockSpec,
    cell: Int,
    corrupt: (Long, String) => Throwable,
    keep: ChangeLogReader.Keep = ChangeLogReader.All
) {
  import ChangeLog._

  private[this] val inputOf = spec.relations.map(_.input).toArray
  private[this] val leastBytes = spec.inputs.map(8 * RowCodec.leastWords(_)).toArray
  private[this] val fixedBytes = spec.inputs.map(8 * RowCodec.fixedWords(_)).toArray
  private[this] val rolesOfInput: Array[Long] = spec.inputs.indices.map { i =>
    Roles.of(spec.relations.indices.filter(inputOf(_) == i))
  }.toArray
  private[this] val weighted = spec.shape.logIsCleaned
  private[this] val appendOnly = spec.inputs.map(!_.retractable).toArray
  private[this] val entryBytes = if (weighted) 24 else 16
  private[this] val blocks = mutable.ArrayBuffer.empty[LogTail.Block]
  private[this] var newest = -1L
  private[this] var oldest = 0L // as the newest block has it
  private[this] var entryCount = 0L

  /** Entries of the blocks that were read. */
  def entries: Long = entryCount

  /** The error for an entry of the store that is no block of the log. */
  def damaged(number: Long, what: String): Throwable = corrupt(number, what)

  /** Number of the first block in the store, as of the blocks that were read. */
  def oldestSequence: Long = blocks.iterator.map(_.first).minOption.getOrElse(0L)

  /** Checks the block under `key`, then calls `entry(roles, weight, input, base, offset, bytes)`
    * with each of its rows; without weights in the log, each weight is 1.
    */
  def read(key: UnsafeRow, value: UnsafeRow)(entry: ChangeLogReader.Entry): Unit = {
    val sequence = key.getLong(0)
    def fail(what: String): Nothing = throw corrupt(sequence, what)

    if (value.isNullAt(0)) fail("it is NULL")
    val word = value.getLong(0)
    val length = word.toInt
    var header = headerBytes(weighted)
    if (length < header || (word >>> 32) + length > value.getSizeInBytes) fail(s"its length is $length")
    val (bytes, from) = value.getBaseObject match {
      case b: Array[Byte] => (b, (value.getBaseOffset - Platform.BYTE_ARRAY_OFFSET + (word >>> 32)).toInt)
      case _ => (value.getBinary(0), 0)
    }
    val at = Platform.BYTE_ARRAY_OFFSET.toLong + from
    if (Platform.getInt(bytes, at) != Magic) fail("it does not start with JLCB")
    val version = Platform.getShort(bytes, at + VersionAt)
    if (version != Version) fail(s"its format version is $version, this release reads $Version")
    if (Platform.getInt(bytes, at + ChecksumAt) != checksum(bytes, from, length)) fail("its checksum does not match")
    val flags = Platform.getShort(bytes, at + FlagsAt)
    val merged = (flags & MergedFlag) != 0
    if ((flags & ~MergedFlag) != (if (weighted) WeightFlag else 0)) fail(s"its flags are $flags")
    if (merged) header += 8
    if (length < header) fail(s"its length is $length")
    if (Platform.getLong(bytes, at + SequenceAt) != sequence)
      fail(s"it is block ${Platform.getLong(bytes, at + SequenceAt)}")
    if (Platform.getInt(bytes, at + CellAt) != cell) fail(s"it belongs to cell ${Platform.getInt(bytes, at + CellAt)}")

    val last = if (merged) Platform.getLong(bytes, at + header - 8) else sequence
    if (merged && last <= sequence) fail(s"it ends with block $last")

    val end = at + length
    val count = Platform.getInt(bytes, at + EntriesAt)
    walk(bytes, at + header, end, count, null, fail)
    walk(bytes, at + header, end, count, entry, fail)
    blocks += LogTail.Block(sequence, last, length - header)
    entryCount += count
    if (sequence > newest) {
      newest = sequence
      if (weighted) oldest = Platform.getLong(bytes, at + OldestAt)
    }
  }

  /** The error for a block that must exist and does not. */
  def missing(sequence: Long): Throwable = corrupt(sequence, "it is missing")

  /** Must be called after the last block. Returns the end of the log. */
  def finish(): LogEnd = {
    blocks.sortInPlaceBy(_.first)
    var next = oldest
    for (b <- blocks) {
      if (b.first > next) throw missing(next)
      if (b.first < next)
        throw corrupt(b.first, s"it should be deleted, what is in force there begins with block $next")
      next = b.last + 1
    }
    LogEnd(next, LogTail.of(blocks.reverseIterator, mergedCapacity(weighted)))
  }

  /** Walks the entries; checks them if `entry` is null, returns them otherwise. */
  private def walk(
      bytes: Array[Byte],
      from: Long,
      end: Long,
      entries: Int,
      entry: ChangeLogReader.Entry,
      fail: String => Nothing
  ): Unit = {
    var at = from
    var n = 0
    while (n < entries) {
      if (end - at < entryBytes) fail(s"it ends before entry $n of $entries")
      val roles = Platform.getLong(bytes, at)
      val weight = if (weighted) Platform.getLong(bytes, at + 8) else 1L
      val size = Platform.getLong(bytes, at + entryBytes - 8)
      val role = Roles.first(roles)
      if (entry == null) {
        if (role >= inputOf.length || (roles & ~rolesOfInput(inputOf(role))) != 0L)
          fail(s"the roles ${roles.toHexString} of entry $n are not of one input")
        val input = inputOf(role)
        if (
          size > end - at - entryBytes || size < leastBytes(input) || (size & 7) != 0L ||
          fixedBytes(input) != 0 && size != fixedBytes(input)
        ) fail(s"the row of entry $n has $size bytes")
        if (appendOnly(input) && weight != 1L) fail(s"the appended row of entry $n has weight $weight")
      } else {
        val input = inputOf(role)
        val requested = if (appendOnly(input)) roles else rolesOfInput(input)
        val kept = keep.kept(requested, bytes, at + entryBytes, size.toInt)
        if (kept != 0L) entry.read(roles & kept, weight, input, bytes, at + entryBytes, size.toInt)
      }
      at += entryBytes + size
      n += 1
    }
    if (at != end) fail(s"${end - at} bytes follow its last entry")
  }
}

object ChangeLogReader {

  /** Chooses among a row's roles by its bytes alone. */
  trait Keep {

    /** Those of a row's roles (bit set) that are read; the row's bytes are at `offset` of `base`.
      */
    def kept(roles: Long, base: AnyRef, offset: Long, bytes: Int): Long
  }

  object All extends Keep {
    override def kept(roles: Long, base: AnyRef, offset: Long, bytes: Int): Long = roles
  }

  /** Receives the entries of a block. */
  trait Entry {

    /** An entry: the roles (bit set) in which a row has the multiplicity `weight`. The row is one
      * of `input`, `bytes` bytes at `offset` of `base`, and valid during the call.
      */
    def read(roles: Long, weight: Long, input: Int, base: AnyRef, offset: Long, bytes: Int): Unit
  }

  /** Number of entries according to a block's header. */
  def entriesOf(value: UnsafeRow): Int = {
    val at = value.getBaseOffset + (value.getLong(0) >>> 32)
    Platform.getInt(value.getBaseObject, at + ChangeLog.EntriesAt)
  }

  /** Number of the last block that a block replaces, according to its header. */
  def lastOf(sequence: Long, value: UnsafeRow): Long = {
    val at = value.getBaseOffset + (value.getLong(0) >>> 32)
    val flags = Platform.getShort(value.getBaseObject, at + ChangeLog.FlagsAt)
    if ((flags & ChangeLog.MergedFlag) == 0) sequence
    else {
      val header = ChangeLog.headerBytes(weighted = (flags & ChangeLog.WeightFlag) != 0)
      Platform.getLong(value.getBaseObject, at + header)
    }
  }
}
