package io.joinless.spark.state.log

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.Blocks._
import io.joinless.spark.spec.{BlockSpec, InputKind}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{LongType, StringType}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** The log's format if entries have weights. */
class WeightedChangeLogSpec extends AnyFunSuite {

  private class Corrupt(val block: Long, what: String) extends RuntimeException(what)

  private type Block = (UnsafeRow, UnsafeRow)
  private type Entry = (Long, Long, UnsafeRow) // roles, weight, row

  /** Relations 0 and 1 share a changelog, relation 2 is appended to. */
  private val spec: BlockSpec = {
    val plain = star(3)
    plain.shaped(_.copy(
      inputs = IndexedSeq(plain.inputs(0).copy(kind = InputKind.Changelog), plain.inputs(1)),
      relations = plain.relations.zip(Seq(0, 0, 1)).map { case (r, input) => r.copy(input = input) }
    ))
  }

  private def write(
      rows: Seq[Seq[Entry]],
      from: Long = 0,
      oldest: Long = 0,
      weighted: Boolean = true
  ): Seq[Block] = {
    val store = new BlocksInMemory
    val writer = new ChangeLogWriter(3, LogEnd(from, LogTail.Empty), store, weighted)
    writer.cleanedUntil(oldest)
    for (groups <- rows) {
      writer.together(groups.size, groups.head._3.getSizeInBytes)
      for ((roles, weight, row) <- groups)
        writer.append(roles, weight, row.getBaseObject, row.getBaseOffset, row.getSizeInBytes)
    }
    writer.flush()
    store.commit()
    assert(writer.nextSequence == from + store.blocks.size)
    store.blocks
  }

  private def read(blocks: Seq[Block], spec: BlockSpec = spec): (Seq[(Long, Entry)], ChangeLogReader, Long) = {
    val entries = mutable.Buffer.empty[(Long, Entry)]
    val reader = new ChangeLogReader(spec, 3, new Corrupt(_, _))
    for ((key, value) <- blocks) reader.read(key, value) { (roles, weight, input, base, offset, bytes) =>
      val row = new UnsafeRow(spec.inputs(input).columns.size)
      row.pointTo(base, offset, bytes)
      entries += ((key.getLong(0), (roles, weight, row.copy())))
    }
    (entries.toSeq, reader, reader.finish().nextSequence)
  }

  private def rows(n: Int): Seq[Seq[Entry]] = (0 until n).map { i =>
    val row = edge(i.toLong, if (i % 5 == 0) null else i * 3L)
    i % 4 match {
      case 0 => Seq((1L, i - 7L, row), (2L, i + 7L, row))
      case 1 => Seq((3L, 1L, row))
      case 2 => Seq((3L, 0L, row))
      case 3 => Seq((4L, 1L, row))
    }
  }

  test("what is written is read, with its weights, in any order of blocks") {
    for (n <- Seq(1, 2, 9000)) {
      val blocks = write(rows(n))
      val (entries, reader, next) = read(blocks)
      assert(entries.map(_._2) == rows(n).flatten && next == blocks.size)
      assert(reader.entries == entries.size && reader.oldestSequence == 0)
      assert(read(new Random(1).shuffle(blocks))._1.sortBy(_._1) == entries)
    }
  }

  test("the entries of a row stand in one block, blocks hold 8 KB, larger rows have a block of their own") {
    val blocks = write(rows(9000))
    assert(blocks.size > 5 && blocks.map(_._2.getSizeInBytes).forall(_ <= ChangeLog.WeightedBlockBytes + 16))
    for ((_, ofRow) <- read(blocks)._1.groupBy(_._2._3)) assert(ofRow.map(_._1).distinct.size == 1)
    val types = Seq(LongType, StringType)
    val texts = block(types, sharedInput = true)(Seq((0, 0)), Seq((0, 0)))
    val changes = texts.shaped(_.copy(inputs = texts.inputs.map(_.copy(kind = InputKind.Changelog))))
    val large = Seq(10, 5000, 20, 100000, 5).map { n =>
      val text = row(types, n.toLong, UTF8String.fromString("x" * n))
      Seq((1L, 2L, text), (2L, 3L, text))
    }
    val written = write(large)
    assert(read(written, changes)._1 == large.zip(Seq(0L, 1L, 2L, 3L, 4L)).flatMap { case (r, s) => r.map((s, _)) })
  }

  test("an empty log has no oldest block") {
    val (_, reader, next) = read(Nil)
    assert(next == 0 && reader.oldestSequence == 0 && reader.entries == 0)
  }

  private def corrupted(blocks: Seq[Block], what: String, spec: BlockSpec = spec): Long = {
    val e = intercept[Corrupt](read(blocks, spec))
    assert(e.getMessage.contains(what))
    e.block
  }

  test("a missing block is found, the oldest one too") {
    val before = write(rows(500), from = 7, oldest = 5)
    assert(before.map(_._1.getLong(0)) == (7L to 10L))
    val cleaned = before ++ write(rows(3), from = 11, oldest = 8)
    val whole = cleaned.drop(1)
    assert(read(whole)._3 == 12 && read(whole.reverse)._2.oldestSequence == 8)
    assert(corrupted(cleaned, "should be deleted, what is in force there begins with block 8") == 7)
    assert(corrupted(whole.drop(1), "is missing") == 8)
    assert(corrupted(whole.patch(1, Nil, 1), "is missing") == 9)
    assert(corrupted(write(rows(3), from = 11, oldest = 12), "should be deleted") == 11)
    // the right number of blocks, but not the right ones
    assert(corrupted(cleaned.patch(1, Nil, 1), "should be deleted") == 7)
  }

  test("what is wrong is said") {
    corrupted(write(Seq(Seq((4L, 2L, edge(1L, 2L))))), "appended row of entry 0 has weight 2")
    corrupted(write(Seq(Seq((4L, 0L, edge(1L, 2L))))), "appended row of entry 0 has weight 0")
    corrupted(write(Seq(Seq((5L, 1L, edge(1L, 2L))))), "roles 5")
    corrupted(write(Seq(Seq((1L, 1L, row(Seq(LongType), 1L))))), "16 bytes")
    // weights in a log without weights, and none in one with them
    corrupted(write(Seq(Seq((1L, 1L, edge(1L, 2L))))), "its flags are 1", star(3))
    val plain = new BlocksInMemory
    val writer = new ChangeLogWriter(3, LogEnd.Empty, plain)
    val e = edge(1L, 2L)
    writer.append(1L, e.getBaseObject, e.getBaseOffset, e.getSizeInBytes)
    writer.flush()
    plain.commit()
    corrupted(plain.blocks, "its flags are 0")
  }

  test("any changed byte of a block is found, before a row is handed out") {
    val (key, value) = write(rows(20)).head
    val length = value.getSizeInBytes - 16
    val random = new Random(3)
    for (at <- (0 until 28) ++ (32 until 40) ++ Seq.fill(200)(random.nextInt(length - 32) + 32)) {
      val changed = value.copy()
      val offset = changed.getBaseOffset + 16 + at
      val before = Platform.getByte(changed.getBaseObject, offset)
      Platform.putByte(changed.getBaseObject, offset, (before ^ (1 << random.nextInt(8))).toByte)
      var seen = 0
      val reader = new ChangeLogReader(spec, 3, new Corrupt(_, _))
      intercept[Corrupt](reader.read(key, changed)((_, _, _, _, _, _) => seen += 1))
      assert(seen == 0)
    }
  }
}
