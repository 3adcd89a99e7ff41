package io.joinless.spark.state

import io.joinless.spark.Blocks._
import io.joinless.spark.plans.BlockSpec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.util.Random

class ChangeLogSpec extends AnyFunSuite {

  private class Corrupt(val block: Long, what: String) extends RuntimeException(what)

  private val spec = path(3, sharedInput = true)

  private def write(rows: Seq[(Long, UnsafeRow)], from: Long = 0, cell: Int = 3): Seq[(UnsafeRow, UnsafeRow)] = {
    val blocks = mutable.Buffer.empty[(UnsafeRow, UnsafeRow)]
    val writer = new ChangeLogWriter(cell, from, (k, v) => blocks += ((k.copy(), v.copy())))
    for ((roles, row) <- rows) writer.append(roles, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)
    writer.flush()
    writer.flush()
    assert(writer.nextSequence == from + blocks.size)
    blocks.toSeq
  }

  private def read(blocks: Seq[(UnsafeRow, UnsafeRow)], spec: BlockSpec = spec): (Seq[(Long, UnsafeRow)], Long) = {
    val rows = mutable.Buffer.empty[(Long, UnsafeRow)]
    val reader = new ChangeLogReader(spec, 3, new Corrupt(_, _))
    for ((key, value) <- blocks) reader.read(key, value) { (roles, _, input, base, offset, bytes) =>
      val row = new UnsafeRow(spec.inputs(input).columns.size)
      row.pointTo(base, offset, bytes)
      rows += ((roles, row.copy()))
    }
    (rows.toSeq, reader.finish())
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

  test("any changed byte of a block is found, before a row is handed out") {
    val block = write(edges(20)).head
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

  test("what is wrong is said") {
    val blocks = write(edges(5000))
    assert(corrupted(Seq(changed(blocks(0), 0, 'x')), "JLCB") == 0)
    assert(corrupted(Seq(changed(blocks(1), 4, 9)), "format version is 9") == 1)
    assert(corrupted(Seq(changed(blocks(1), 100, 77)), "checksum") == 1)
    assert(corrupted(Seq((blocks(0)._1, blocks(1)._2)), "it is block 1") == 0)
    assert(corrupted(write(edges(3), cell = 2), "belongs to cell 2") == 0)
    corrupted(blocks.take(1) ++ blocks.drop(2), "blocks where")
    corrupted(write(Seq((8L, edge(1L, 2L)))), "roles 8")
    corrupted(write(Seq((1L, row(Seq(LongType), 1L)))), "16 bytes")
    val apart = path(3) // relations 0 and 1 do not share an input
    corrupted(write(Seq((3L, edge(1L, 2L)))), "roles 3", apart)
    val (key, value) = blocks.head
    val short = new UnsafeRow(1)
    short.pointTo(value.getBaseObject, value.getBaseOffset, 1024)
    corrupted(Seq((key, short)), "length")
  }
}
