package io.joinless.spark.state.log

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.Blocks._
import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class ChangeLogSpec extends AnyFunSuite {

  private class Corrupt(val block: Long, what: String) extends RuntimeException(what)

  private val spec = path(3, sharedInput = true)

  private def write(rows: Seq[(Long, UnsafeRow)], from: Long = 0, cell: Int = 3): Seq[(UnsafeRow, UnsafeRow)] = {
    val store = new BlocksInMemory
    val writer = new ChangeLogWriter(cell, LogEnd(from, LogTail.Empty), store)
    for ((roles, row) <- rows) writer.append(roles, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)
    writer.flush()
    writer.flush()
    store.commit()
    assert(writer.nextSequence == from + store.blocks.size)
    store.blocks
  }

  private def read(blocks: Seq[(UnsafeRow, UnsafeRow)], spec: BlockSpec = spec): (Seq[(Long, UnsafeRow)], Long) = {
    val rows = mutable.Buffer.empty[(Long, UnsafeRow)]
    val reader = new ChangeLogReader(spec, 3, new Corrupt(_, _))
    for ((key, value) <- blocks) reader.read(key, value) { (roles, _, input, base, offset, bytes) =>
      val row = new UnsafeRow(spec.inputs(input).columns.size)
      row.pointTo(base, offset, bytes)
      rows += ((roles, row.copy()))
    }
    (rows.toSeq, reader.finish().nextSequence)
  }

  private def edges(n: Int) = (0 until n).map(i => (1L + i % 7, edge(i.toLong, if (i % 5 == 0) null else i * 3L)))

  test("what is written is read, in any order of blocks") {
    for (n <- Seq(0, 1, 2, 5000)) {
      val blocks = write(edges(n))
      assert(read(blocks) == ((edges(n), blocks.size.toLong)))
      assert(read(blocks.reverse)._1.sortBy(_._2.getLong(0)) == edges(n))
    }
  }

  test("blocks hold 64 KB, a larger row has its own") {
    val blocks = write(edges(10000))
    assert(blocks.map(_._2.getSizeInBytes).forall(_ <= ChangeLog.BlockBytes + 16))
    assert(blocks.size == (10000 * 40 + 65503) / 65504)
    val types = Seq(LongType, StringType)
    val texts = block(types, sharedInput = true)(Seq((0, 0)), Seq((0, 0)))
    val rows = Seq(10, 300000, 20, 64000, 1000000, 5).map { n =>
      (1L, row(types, n.toLong, UTF8String.fromString("x" * n)))
    }
    val large = write(rows)
    assert(read(large, texts)._1.equals(rows))
    assert(large.map(_._1.getLong(0)) == (0L until 5L)) // 20 and 64000 share one
  }

  test("the log goes on with fresh sequence numbers") {
    val first = write(edges(2000))
    val (_, next) = read(first)
    assert(next == first.size)
    assert(read(first ++ write(edges(10), next))._1 == edges(2000) ++ edges(10))
  }

  private def corrupted(blocks: Seq[(UnsafeRow, UnsafeRow)], what: String, spec: BlockSpec = spec): Long = {
    val e = intercept[Corrupt](read(blocks, spec))
    assert(e.getMessage.contains(what))
    e.block
  }

  private def changed(block: (UnsafeRow, UnsafeRow), at: Int, byte: Int): (UnsafeRow, UnsafeRow) = {
    val value = block._2.copy()
    Platform.putByte(value.getBaseObject, value.getBaseOffset + 16 + at, byte.toByte)
    (block._1, value)
  }

  private val LastAt = ChangeLog.HeaderBytes // of a merged block

  /** A block with one byte changed, and a matching checksum. */
  private def forged(block: (UnsafeRow, UnsafeRow), at: Int, byte: Int): (UnsafeRow, UnsafeRow) = {
    val (key, value) = changed(block, at, byte)
    val bytes = value.getBinary(0)
    val sum = ChangeLog.checksum(bytes, 0, bytes.length)
    Platform.putInt(value.getBaseObject, value.getBaseOffset + 16 + ChangeLog.ChecksumAt, sum)
    (key, value)
  }

  private def anyChangedByteIsFound(block: (UnsafeRow, UnsafeRow)): Unit = {
    val length = block._2.getSizeInBytes - 16
    val random = new Random(3)
    for (at <- (0 until 28) ++ Seq.fill(200)(random.nextInt(length - 32) + 32)) {
      val before = Platform.getByte(block._2.getBaseObject, block._2.getBaseOffset + 16 + at)
      var seen = 0
      val reader = new ChangeLogReader(spec, 3, new Corrupt(_, _))
      val (k, v) = changed(block, at, before ^ (1 << random.nextInt(8)))
      intercept[Corrupt](reader.read(k, v)((_, _, _, _, _, _) => seen += 1))
      assert(seen == 0)
    }
  }

  test("any changed byte of a block is found, before a row is handed out") {
    anyChangedByteIsFound(write(edges(20)).head)
    val log = new Batches
    edges(8).foreach(e => log.play(Seq(e)))
    anyChangedByteIsFound(log.store.blocks.head)
  }

  test("what is wrong is said") {
    val blocks = write(edges(5000))
    assert(corrupted(Seq(changed(blocks(0), 0, 'x')), "JLCB") == 0)
    assert(corrupted(Seq(changed(blocks(1), 4, 9)), "format version is 9") == 1)
    assert(corrupted(Seq(changed(blocks(1), 100, 77)), "checksum") == 1)
    assert(corrupted(Seq((blocks(0)._1, blocks(1)._2)), "it is block 1") == 0)
    assert(corrupted(write(edges(3), cell = 2), "belongs to cell 2") == 0)
    assert(corrupted(blocks.take(1) ++ blocks.drop(2), "is missing") == 1)
    corrupted(write(Seq((8L, edge(1L, 2L)))), "roles 8")
    corrupted(write(Seq((1L, row(Seq(LongType), 1L)))), "16 bytes")
    val apart = path(3) // relations 0 and 1 do not share an input
    corrupted(write(Seq((3L, edge(1L, 2L)))), "roles 3", apart)
    val (key, value) = blocks.head
    val short = new UnsafeRow(1)
    short.pointTo(value.getBaseObject, value.getBaseOffset, 1024)
    corrupted(Seq((key, short)), "length")
  }

  /** The log of cell 3, batch by batch, as a task without results would write it. */
  final private class Batches {
    val store = new BlocksInMemory
    private var end = LogEnd.Empty

    private def reader = new ChangeLogReader(spec, 3, new Corrupt(_, _))

    /** @return bytes put into the store */
    def play(rows: Seq[(Long, UnsafeRow)]): Long = {
      store.begin()
      val writer = new ChangeLogWriter(3, end, store)
      for ((roles, row) <- rows) writer.append(roles, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)
      writer.close(reader)(_ => (roles, _, _, base, offset, bytes) => writer.append(roles, base, offset, bytes))
      store.commit()
      end = writer.end
      store.bytesPut
    }

    /** As after a restart: the state of the log is read from the log. */
    def restart(random: Random): Unit = {
      val again = reader
      for ((key, value) <- random.shuffle(store.blocks)) again.read(key, value)((_, _, _, _, _, _) => ())
      val _ = assert(again.finish() == end)
    }
  }

  private val entryBytes = 40 // of an edge
  private val merged = ChangeLog.mergedCapacity(weighted = false)
  private lazy val many = edges(25000)

  test("a log of n rows that were inserted one by one has few blocks, and each row was copied a few times") {
    val log = new Batches
    val n = 10000
    val written = many.take(n).map(e => log.play(Seq(e))).sum
    assert(read(log.store.blocks)._1.sortBy(_._2.getLong(0)) == many.take(n))
    assert(log.store.blocks.size <= 2 * n * entryBytes / merged + 12)
    // a row is written when it is inserted, and whenever its block doubles: from 40 to 10,240 bytes
    info(s"${written / n} bytes written per row of $entryBytes, ${log.store.blocks.size} blocks")
    assert(written <= n * 9L * (entryBytes + 16))
  }

  test("oracle_ batches of any size: what was written is read, in few blocks and few copies, whatever was merged") {
    for (seed <- 0 until 30) {
      val random = new Random(seed)
      val log = new Batches
      var (rows, written) = (0, 0L)
      val sizes: () => Int = Seq[() => Int](
        () => 1 + random.nextInt(3),
        () => 1 << random.nextInt(12),
        () => if (random.nextInt(20) == 0) 4000 else 1,
        () => math.max(1, 300 - rows / 100) // ever smaller ones
      )(seed % 4)
      while (rows < 20000) {
        val size = sizes()
        written += log.play(many.slice(rows, rows + size))
        rows += size
        if (random.nextInt(10) == 0) log.restart(random)
        if (random.nextInt(10) == 0) assert(log.play(Nil) == 0)
      }
      val blocks = log.store.blocks
      assert(read(blocks)._1.sortBy(_._2.getLong(0)) == many.take(rows), s"seed $seed")
      for (Seq((_, a), (_, b)) <- blocks.sliding(2)) {
        val (x, y) = (a.getSizeInBytes - 56, b.getSizeInBytes - 56) // entries, or 8 more
        assert(x >= 2 * y - 16 || x + y > merged - 16, s"seed $seed")
      }
      assert(written <= 15L * rows * (entryBytes + 16), s"seed $seed: ${written / rows} bytes per row")
    }
  }

  test("a merged block in the wrong place, or beside what it was merged from, is found") {
    val log = new Batches
    edges(6).foreach(e => log.play(Seq(e)))
    val merged = log.store.blocks // 0 to 3, 4 and 5
    assert(merged.map(_._1.getLong(0)) == Seq(0, 4))
    val single = edges(6).indices.flatMap(i => write(edges(6).slice(i, i + 1), from = i.toLong))
    assert(read(merged)._1.sortBy(_._2.getLong(0)) == edges(6))
    assert(corrupted(single.take(1) ++ merged, "it should be deleted") == 0)
    assert(corrupted(merged :+ single(5), "it should be deleted, what is in force there begins with block 6") == 5)
    assert(corrupted(merged.drop(1), "it is missing") == 0)
    assert(corrupted(merged.take(1) :+ single(5), "it is missing") == 4)
    assert(read(merged.take(1) ++ single.drop(4))._2 == 6)
    assert(corrupted(Seq(forged(merged.head, LastAt, 0)), "it ends with block 0") == 0)
    assert(corrupted(Seq(forged(merged.head, LastAt, 4), merged(1)), "it should be deleted") == 4)
    assert(corrupted(Seq(forged(merged.head, LastAt, 2), merged(1)), "it is missing") == 3)
    assert(corrupted(Seq(forged(merged.head, ChangeLog.FlagsAt, 6)), "flags are 6") == 0)
  }

  test("a block that is to be merged but missing or damaged is named, before anything is written") {
    for (
      damage <- Seq[BlocksInMemory => Unit](
        s => s.remove(s.blocks.last._1),
        s => s.put(s.blocks.last._1, changed(s.blocks.last, 60, 9)._2)
      )
    ) {
      val log = new Batches
      edges(6).foreach(e => log.play(Seq(e)))
      log.store.begin()
      damage(log.store)
      log.store.commit()
      val before = log.store.blocks
      assert(intercept[Corrupt](log.play(edges(7).drop(6) ++ edges(8).drop(7))).block == 4)
      log.store.begin()
      assert(log.store.blocks == before)
    }
  }
}
