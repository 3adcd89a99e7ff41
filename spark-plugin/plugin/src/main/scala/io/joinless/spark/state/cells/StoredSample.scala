package io.joinless.spark.state.cells

import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32C

import io.joinless.engine.sample.KeptSample
import io.joinless.engine.view.RowStore
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.BlockStore
import org.apache.spark.unsafe.Platform

/** The copies that a kept sample has, in the store of their cell: one entry per slot, under the
  * number −1 − slot, beside the blocks of the log.
  *
  * '''Durable format''' 1, little-endian: 4 bytes `JSMP`, the version in 4, the checksum of what
  * follows in 4 (CRC-32C), 4 of zero; the key of the copy, a double; then for each relation the
  * number of the copy of its row, the number of its words, and these words.
  */
private[spark] object StoredSample {
  final private val Magic = 0x504d534a // JSMP
  final private val Version = 1
  final private val Header = 16
  final private val FirstColumn = 16 // in an UnsafeRow of one column

  /** Whether an entry of a store is a sampled copy, and no block of the log. */
  def isSample(key: UnsafeRow): Boolean = key.getLong(0) < 0L

  /** Writes the copies that enter, and removes those that leave. */
  final class Writer(sample: KeptSample, views: RowStore, store: BlockStore) {
    private[this] val relations = views.block.relations
    private[this] val key = UnsafeRow.createFromByteArray(16, 1)
    private[this] val value = new UnsafeRow(1)
    private[this] var row = new Array[Byte](256) // of `value`

    def remove(slot: Int): Unit = {
      key.setLong(0, -1L - slot)
      store.remove(key)
    }

    def put(slot: Int): Unit = {
      key.setLong(0, -1L - slot)
      val size = Math.toIntExact(bytes(slot))
      if (row.length < FirstColumn + size) row = new Array[Byte](math.max(FirstColumn + size, 2 * row.length))
      // an UnsafeRow of one column: NULL bits, offset and size, content
      Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET + 8L, FirstColumn.toLong << 32 | size)
      write(slot, ByteBuffer.wrap(row, FirstColumn, size).slice.order(ByteOrder.LITTLE_ENDIAN))
      value.pointTo(row, FirstColumn + size)
      store.put(key, value)
    }

    /** The size of a copy's entry: a multiple of eight. */
    private def bytes(slot: Int): Long = {
      var size = Header + 8L
      var r = 0
      while (r < relations.size) {
        size += 16 + 8L * views.arena(relations(r).input).words(sample.row(slot, r))
        r += 1
      }
      size
    }

    private def write(slot: Int, entry: ByteBuffer): Unit = {
      entry.putInt(Magic).putInt(Version).putInt(0).putInt(0).putDouble(sample.key(slot))
      var r = 0
      while (r < relations.size) {
        val (arena, row) = (views.arena(relations(r).input), sample.row(slot, r))
        val (page, start, words) = (arena.page(row), arena.start(row), arena.words(row))
        entry.putLong(sample.copy(slot, r)).putLong(words.toLong)
        var i = start
        while (i < start + words) { entry.putLong(page(i)); i += 1 }
        r += 1
      }
      val _ = entry.putInt(8, checksum(entry.flip()))
    }
  }

  /** Fills an empty reservoir with the entries of a store. The views must have their rows.
    *
    * @param entries number and content
    * @param damaged the error for an entry, given its number and what is wrong
    */
  def restore(
      sample: KeptSample,
      views: RowStore,
      entries: Iterable[(Long, Array[Byte])],
      damaged: (Long, String) => Throwable
  ): Unit = {
    val relations = views.block.relations
    val rows = new Array[Int](relations.size)
    for ((number, content) <- entries) {
      val entry = read(content, relations.size, what => throw damaged(number, what))
      for (r <- relations.indices) {
        rows(r) = views.find(relations(r).input, entry.rows(r), entry.rows(r).length)
        if (rows(r) < 0) throw damaged(number, "it has a row that is not stored")
      }
      if (!sample.hasPlace(rows)) throw damaged(number, "there are more sampled results than the sample has places")
      sample.restore((-1L - number).toInt, entry.key, rows, entry.copies)
    }
    sample.restored()
  }

  /** A sampled copy as it is stored: by relation, which copy of its row, and the words of the row. */
  final class Entry(val key: Double, val copies: Array[Long], val rows: Array[Array[Long]])

  /** Reads an entry.
    *
    * @param damaged given what is wrong, throws
    */
  def read(content: Array[Byte], relations: Int, damaged: String => Nothing): Entry = {
    def demand(holds: Boolean, what: => String): Unit = if (!holds) damaged(what)
    demand(content.length >= Header + 8, "it is too short")
    val buffer = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN)
    demand(buffer.getInt() == Magic, "it is no sampled result")
    val version = buffer.getInt()
    demand(version == Version, s"it has the format $version")
    demand(buffer.getInt() == checksum(ByteBuffer.wrap(content)), "its checksum is wrong")
    val _ = buffer.getInt()
    val entry = new Entry(buffer.getDouble(), new Array[Long](relations), new Array[Array[Long]](relations))
    for (r <- 0 until relations) {
      demand(buffer.remaining >= 16, "it is too short")
      entry.copies(r) = buffer.getLong()
      val words = buffer.getLong()
      demand(words >= 0 && words <= buffer.remaining / 8, "it is too short")
      entry.rows(r) = Array.fill(words.toInt)(buffer.getLong())
    }
    entry
  }

  /** The checksum of an entry, from its position to its limit. */
  private def checksum(entry: ByteBuffer): Int = {
    val crc = new CRC32C
    crc.update(entry.slice(Header, entry.remaining - Header))
    crc.getValue.toInt
  }
}
