package io.joinless.spark.state.groups

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, DataInputStream, DataOutputStream}

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.plans.values.RowOrder
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Ascending,
  BoundReference,
  Descending,
  SortOrder,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.types.{DataType, LongType, StructField, StructType}
import org.scalatest.funsuite.AnyFunSuite

/** The first values in an order, kept over random batches of changes and written between them,
  * against all values sorted.
  */
class BestOfSpec extends AnyFunSuite {

  private type Value = (java.lang.Long, Long)

  private val seed = Seeds.of("BestOfSpec")
  private val rng = new Random(seed)
  private val struct = StructType(Seq(StructField("x", LongType), StructField("y", LongType)))
  private val row = UnsafeProjection.create(Array[DataType](struct))
  private val reader = new ValueReader(0, struct)

  private def keys(all: Boolean) = {
    val x = SortOrder(BoundReference(0, LongType, nullable = true), Descending)
    if (all) Seq(x, SortOrder(BoundReference(1, LongType, nullable = true), Ascending)) else Seq(x)
  }

  private def unsafe(value: Value): UnsafeRow = row(InternalRow(InternalRow(value._1, value._2))).copy()

  private def plain(row: UnsafeRow): Value = {
    val values = row.getStruct(0, 2)
    (if (values.isNullAt(0)) null else values.getLong(0), values.getLong(1))
  }

  /** The values that a group holds, in no order; counts how often all of them are read. */
  private class Held extends GroupValuesKept {
    val numbers = mutable.HashMap.empty[UnsafeRow, Long]
    var reads = 0

    override def change(value: UnsafeRow, by: Long): (Long, Long) = {
      val before = numbers.getOrElse(value, 0L)
      if (before + by == 0) numbers -= value else numbers(value.copy()) = before + by
      (before, before + by)
    }

    override def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit = {
      reads += 1
      read(numbers.iterator)
    }
  }

  private def written(best: BestOf, empty: => BestOf): BestOf = {
    val bytes = new ByteArrayOutputStream
    best.write(new DataOutputStream(bytes))
    val read = empty
    read.add(new DataInputStream(new ByteArrayInputStream(bytes.toByteArray)))
    read
  }

  private def sorted(
      numbers: Iterable[(UnsafeRow, Long)],
      order: Ordering[UnsafeRow],
      most: Option[Int]
  ): Seq[Value] = {
    val all = numbers.toSeq.sortBy(_._1)(order).flatMap { case (value, n) => Seq.fill(n.toInt)(plain(value)) }
    most.fold(all)(all.take)
  }

  private def random(): Value = (if (rng.nextInt(9) == 0) null else rng.nextInt(12).toLong, rng.nextInt(4).toLong)

  for (wanted <- Seq(Some(1), Some(3), Some(20), None); total <- Seq(true, false))
    test(
      s"${wanted.fold("all")(n => s"the first $n")} of values that are inserted and deleted, ${if (total) "a total order"
        else "ties"}"
    ) {
      val order = RowOrder(keys(total), struct).ordering
      def empty = new BestOf(reader, order, wanted, leave = true)
      for (_ <- 0 until 60) {
        val held = new Held
        var kept = empty
        for (_ <- 0 until 40) {
          kept = written(kept, empty)
          kept.load(held)
          val changes = new ValueChanges(reader)
          for (_ <- 0 until rng.nextInt(12)) changes.add(unsafe(random()), 1L + rng.nextInt(3))
          val present = held.numbers.toSeq
          for ((value, n) <- rng.shuffle(present).take(rng.nextInt(8) * rng.nextInt(3)))
            changes.add(value, -1L - rng.nextInt(n.toInt))
          changes.applyTo(kept, held)
          assert(kept.first.map(plain) == sorted(held.numbers, order, wanted), s"seed $seed")
          assert(kept.count == held.numbers.values.sum, s"seed $seed")
        }
      }
    }

  test("the first of values that are only inserted are all that is kept, whatever part of a batch brings them") {
    val order = RowOrder(keys(all = true), struct).ordering
    for (wanted <- Seq(1, 4); _ <- 0 until 200) {
      def empty = new BestOf(reader, order, Some(wanted), leave = false)
      val all = mutable.ArrayBuffer.empty[Value]
      var kept = empty
      for (_ <- 0 until 10) {
        val batch = empty
        for (_ <- 0 until 2) {
          val part = empty
          for (_ <- 0 until rng.nextInt(6)) { val value = random(); all += value; part.add(unsafe(value), 1L) }
          batch.add(written(part, empty))
        }
        kept = written(kept, empty)
        kept.add(batch)
        assert(kept.first.map(plain) == sorted(all.map(unsafe(_) -> 1L), order, Some(wanted)), s"seed $seed")
        val bytes = new ByteArrayOutputStream
        kept.write(new DataOutputStream(bytes))
        assert(bytes.size <= 12 + wanted * (4 + 8 + unsafe((1L, 1L)).getSizeInBytes))
      }
    }
  }

  test("a list of n is found anew at most once for n values that leave it") {
    val order = RowOrder(keys(all = true), struct).ordering
    val (held, kept) = (new Held, new BestOf(reader, order, Some(10), leave = true))
    val inserts = new ValueChanges(reader)
    for (x <- 0 until 1000) inserts.add(unsafe((x.toLong, 0L)), 1L)
    inserts.applyTo(kept, held)
    for (x <- 999 to 100 by -1) {
      val deletes = new ValueChanges(reader)
      deletes.add(unsafe((x.toLong, 0L)), -1L)
      deletes.applyTo(kept, held)
      assert(kept.first.map(plain).map(_._1.longValue) == (x - 1 until x - 11 by -1))
    }
    assert(held.reads <= 900 / 10 && held.reads > 0, held.reads)
  }
}
