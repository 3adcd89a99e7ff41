package io.joinless.spark.state.cells

import java.nio.{ByteBuffer, ByteOrder}
import java.util.BitSet
import java.util.zip.CRC32C

import io.joinless.engine.sample.KeptSample
import io.joinless.engine.view.RowStore
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.BlockStore
import org.apache.spark.unsafe.Platform

/** The copies that a kept sample has, in the store of their cell, beside the blocks of the log: one
  * entry for [[StoredSample.SlotsPerPage]] slots, under the number −1 − page. A batch writes each
  * page once in which copies enter or leave: a store takes much longer for an entry than for its
  * bytes.
  *
  * '''Durable format''' 2, little-endian: 4 bytes `JSMP`, the version in 4, the checksum of what
  * follows in 4 (CRC-32C), the number of copies in 4. For each copy: its slot, its key, a double;
  * then for each relation the number of the copy of its row, the number of its words, and these
  * words. All in 8 bytes each.
  */
private[spark] object StoredSample {
  final private val Magic = 0x504d534a // JSMP
  final private val Version = 2
  final private val Header = 16
  final private val FirstColumn = 16 // in an UnsafeRow of one column

  /** The more slots in a page, the fewer entries a batch writes that changes many of them, and the
    * more bytes one that changes few.
    */
  final private val SlotsPerPage = 16

  /** Whether an entry of a store has sampled copies, and is no block of the log. */
  def isSample(key: UnsafeRow): Boolean = key.getLong(0) < 0L

  /** Writes the pages in which copies enter or leave. */
  final class Writer(sample: KeptSample, views: RowStore, store: BlockStore) {
    private[this] val relations = views.block.relations
    private[this] val changed = new BitSet // pages
    private[this] val key = UnsafeRow.createFromByteArray(16, 1)
    private[this] val value = new UnsafeRow(1)
    private[this] var row = new Array[Byte](4096) // of `value`

    /** Notes that the copy in a slot enters or leaves. */
    def change(slot: Int): Unit = changed.set(slot / SlotsPerPage)

    /** Writes what was noted, as the sample is now. */
    def write(): Unit = {
      var page = changed.nextSetBit(0)
      while (page >= 0) {
        write(page)
        page = changed.nextSetBit(page + 1)
      }
      changed.clear()
    }

    private def write(page: Int): Unit = {
      key.setLong(0, -1L - page)
      var copies = 0
      var size = Header.toLong
      foreachSlot(page) { slot => copies += 1; size += bytes(slot) }
      if (copies == 0) store.remove(key)
      else {
        val length = Math.toIntExact(size)
        if (row.length < FirstColumn + length) row = new Array[Byte](math.max(FirstColumn + length, 2 * row.length))
        // an UnsafeRow of one column: NULL bits, offset and size, content
        Platform.putLong(row, Platform.BYTE_ARRAY_OFFSET + 8L, FirstColumn.toLong << 32 | length)
        val entry = ByteBuffer.wrap(row, FirstColumn, length).slice.order(ByteOrder.LITTLE_ENDIAN)
        entry.putInt(Magic).putInt(Version).putInt(0).putInt(copies)
        foreachSlot(page)(put(_, entry))
        val _ = entry.putInt(8, checksum(entry.flip()))
        value.pointTo(row, FirstColumn + length)
        store.put(key, value)
      }
    }

    private def foreachSlot(page: Int)(f: Int => Unit): Unit = {
      var slot = page * SlotsPerPage
      while (slot < (page + 1) * SlotsPerPage) {
        if (sample.isKept(slot)) f(slot)
        slot += 1
      }
    }

    /** The size of a copy in its page: a multiple of eight. */
    private def bytes(slot: Int): Long = {
      var size = 16L
      var r = 0
      while (r < relations.size) {
        size += 16 + 8L * views.arena(relations(r).input).words(sample.row(slot, r))
        r += 1
      }
      size
    }

    private def put(slot: Int, entry: ByteBuffer): Unit = {
      entry.putLong(slot.toLong).putDouble(sample.key(slot))
      var r = 0
      while (r < relations.size) {
        val (arena, row) = (views.arena(relations(r).input), sample.row(slot, r))
        val (page, start, words) = (arena.page(row), arena.start(row), arena.words(row))
        entry.putLong(sample.copy(slot, r)).putLong(words.toLong)
        var i = start
        while (i < start + words) { entry.putLong(page(i)); i += 1 }
        r += 1
      }
    }
  }

  /** Fills an empty reservoir with the pages of a store. The views must have their rows.
    *
    * @param pages number and content
    * @param damaged the error for a page, given its number and what is wrong
    */
  def restore(
      sample: KeptSample,
      views: RowStore,
      pages: Iterable[(Long, Array[Byte])],
      damaged: (Long, String) => Throwable
  ): Unit = {
    val relations = views.block.relations
    val rows = new Array[Int](relations.size)
    for ((number, content) <- pages; entry <- read(number, content, relations.size, damaged)) {
      for (r <- relations.indices) {
        rows(r) = views.find(relations(r).input, entry.rows(r), entry.rows(r).length)
        if (rows(r) < 0) throw damaged(number, "it has a row that is not stored")
      }
      if (!sample.hasPlace(rows)) throw damaged(number, "there are more sampled results than the sample has places")
      sample.restore(entry.slot, entry.key, rows, entry.copies)
    }
    sample.restored()
  }

  /** A sampled copy as it is stored: its slot, its key; by relation, which copy of its row, and the
    * words of the row.
    */
  final class Entry(val slot: Int, val key: Double, val copies: Array[Long], val rows: Array[Array[Long]])

  /** Reads a page.
    *
    * @param damaged the error for a page, given its number and what is wrong
    */
  def read(
      number: Long,
      content: Array[Byte],
      relations: Int,
      damaged: (Long, String) => Throwable
  ): IndexedSeq[Entry] = {
    def demand(holds: Boolean, what: => String): Unit = if (!holds) throw damaged(number, what)
    demand(content.length >= Header, "it is too short")
    val buffer = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN)
    demand(buffer.getInt() == Magic, "it has no sampled results")
    val version = buffer.getInt()
    demand(version == Version, s"it has the format $version")
    demand(buffer.getInt() == checksum(ByteBuffer.wrap(content)), "its checksum is wrong")
    val copies = buffer.getInt()
    demand(copies > 0 && copies <= SlotsPerPage, s"it has $copies results")
    val first = (-1L - number) * SlotsPerPage
    IndexedSeq.fill(copies) {
      demand(buffer.remaining >= 16, "it is too short")
      val slot = buffer.getLong()
      demand(slot >= first && slot < first + SlotsPerPage && slot.isValidInt, s"it has the slot $slot")
      val entry =
        new Entry(slot.toInt, buffer.getDouble(), new Array[Long](relations), new Array[Array[Long]](relations))
      for (r <- 0 until relations) {
        demand(buffer.remaining >= 16, "it is too short")
        entry.copies(r) = buffer.getLong()
        val words = buffer.getLong()
        demand(words >= 0 && words <= buffer.remaining / 8, "it is too short")
        entry.rows(r) = Array.fill(words.toInt)(buffer.getLong())
      }
      entry
    }
  }

  /** The checksum of a page, from its position to its limit. */
  private def checksum(page: ByteBuffer): Int = {
    val crc = new CRC32C
    crc.update(page.slice(Header, page.remaining - Header))
    crc.getValue.toInt
  }
}
