package io.joinless.spark.exec.groups

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.plans.values.{AsOfRows, GroupFunction, RowOrder}
import io.joinless.spark.spec.{ColumnSpec, FunctionKind, FunctionSpec, GroupShape}
import io.joinless.spark.state.asof.StoredAsOf
import io.joinless.spark.state.groups.GroupArgument
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.joinless.PrefixStore
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Batches of as-of joins over a store in memory: after each, the emitted changes add up to the
  * join of all rows, what is stored is the rows, and few entries are read.
  */
class AsOfGroupsSpec extends AnyFunSuite {
  import AsOfGroupsSpec._

  test("after random batches the changes add up to the join of all rows") {
    val seed = Seeds.of("AsOfGroupsSpec")
    val rng = new Random(seed)
    for (run <- 0 until 400) {
      val join = new Join(forward = rng.nextBoolean(), strict = rng.nextBoolean(), outer = rng.nextBoolean())
      // few times, so that many rows have the same; or many, so that few do
      val times = if (rng.nextBoolean()) 6 else 60
      val present = mutable.ArrayBuffer.empty[Row]
      def row() = {
        val isRight = rng.nextBoolean()
        val time = Option.when(isRight || rng.nextInt(8) > 0)(rng.nextInt(times).toLong - 3)
        Row(rng.nextInt(2).toLong, isRight, time, rng.nextInt(5).toLong)
      }
      for (batch <- 0 until 8) {
        val inserted = Seq.fill(rng.nextInt(9))(row())
        val deleted =
          if (rng.nextInt(6) == 0) present.toSeq
          else rng.shuffle(present.toSeq).take(rng.nextInt(present.size.min(8) + 1))
        present ++= inserted
        deleted.foreach(present -= _)
        join.run(rng.shuffle(inserted.map(_ -> 1L) ++ deleted.map(_ -> -1L)))
        val expected = join.of(present.toSeq)
        assert(join.result == expected, s"seed $seed, run $run, batch $batch")
        assert(join.stored == expected, s"seed $seed, run $run, batch $batch: read from the store")
        if (present.isEmpty) assert(join.store.size == 0, s"seed $seed, run $run: entries stay")
      }
    }
  }

  test("a change reads a few entries for each result that it changes, whatever the group holds") {
    val join = new Join(forward = false, strict = false, outer = true)
    val rng = new Random(7)
    def time() = Some(1_780_000_000_000_000L + rng.nextInt(1 << 30) * 1_000L)
    join.run(Seq.fill(20_000)(Row(0, isRight = rng.nextBoolean(), time(), rng.nextLong()) -> 1L))
    for (_ <- 0 until 500) {
      join.store.reads = 0
      join.emitted = 0
      val row = Row(0, isRight = rng.nextBoolean(), time(), rng.nextLong())
      join.run(Seq(row -> 1L))
      assert(join.store.reads <= 40 + 12 * join.emitted, s"${join.store.reads} entries for ${join.emitted} results")
    }
  }
}

object AsOfGroupsSpec {

  final private case class Row(group: Long, isRight: Boolean, time: Option[Long], value: Long)

  final private type Result = (Long, Long, Option[Long], Option[Long]) // group, left value, its time, match

  /** Left columns `value` and `at`; a right column `price`. */
  private val struct = StructType(
    Seq("value", "at", "price").map(StructField(_, LongType)) :+ StructField("isRight", BooleanType) :+
      StructField("time", LongType)
  )

  final private class Join(forward: Boolean, strict: Boolean, outer: Boolean) {
    val store = new CountingStore
    val result = mutable.Map.empty[Result, Long].withDefaultValue(0L)
    var emitted = 0

    private val ties = SortOrder(BoundReference(2, LongType, nullable = true), Ascending)
    private val function =
      AsOfRows(BoundReference(1, struct, nullable = false), RowOrder(Seq(ties), struct), 2, forward, strict, outer)
    private val shape = GroupShape(
      IndexedSeq(ColumnSpec("group", LongType)),
      IndexedSeq(FunctionSpec("f", FunctionKind.AsOf, struct, values = true))
    )
    private val functions = Seq(GroupFunction(function, Some(1)))
    private val arguments = GroupArgument.of(functions, shape).toArray
    private val input = UnsafeProjection.create(Array[DataType](LongType, struct))

    private def inputOf(row: Row): UnsafeRow = {
      val time = row.time.map(Long.box).orNull
      val values =
        if (row.isRight) InternalRow(null, null, row.value, true, time)
        else InternalRow(row.value, time, null, false, time)
      input(InternalRow(row.group, values)).copy()
    }

    def run(changes: Seq[(Row, Long)]): Unit = {
      val groups = new TouchedGroups(arguments)
      val key = UnsafeProjection.create(Array[DataType](LongType))
      for ((row, weight) <- changes) groups(key(inputOf(row))).add(inputOf(row), weight)
      val rows = groups.iterator.map { case (group, totals) =>
        new JoinedRow(group, InternalRow(totals.toBytes)).copy(): InternalRow
      }
      val task = new AsOfGroups(shape, functions, arguments, store, rows)
      task.read()
      for (row <- task.changes; one <- results(row.getLong(0), row.getArray(1))) {
        emitted += 1
        result(one) += row.getLong(2)
        if (result(one) == 0L) result -= one
      }
    }

    private def results(group: Long, array: ArrayData): Seq[Result] =
      (0 until array.numElements()).map { i =>
        val row = array.getStruct(i, 3)
        def at(c: Int) = Option.when(!row.isNullAt(c))(row.getLong(c))
        (group, row.getLong(0), at(1), at(2))
      }

    /** The join, as the function computes it from what is stored. */
    def stored: Map[Result, Long] = {
      val rows = new StoredAsOf(Seq(LongType), store)
      val key = UnsafeProjection.create(Array[DataType](LongType))
      (0L to 1L).flatMap { group =>
        val all = mutable.ArrayBuffer.empty[UnsafeRow]
        rows.all(key(InternalRow(group))).read(_.foreach { case (row, n) => for (_ <- 0L until n) all += row.copy() })
        val array = function.value(all.toSeq.sorted(function.order.ordering))
        results(group, array.asInstanceOf[ArrayData])
      }.groupMapReduce(identity)(_ => 1L)(_ + _)
    }

    /** The join by its definition. */
    def of(rows: Seq[Row]): Map[Result, Long] = rows.filterNot(_.isRight).flatMap { left =>
      val candidates = rows.filter { right =>
        right.isRight && right.group == left.group && left.time.exists { t =>
          val distance = if (forward) right.time.get - t else t - right.time.get
          distance > 0 || distance == 0 && !strict
        }
      }
      val sign = if (forward) 1L else -1L
      val matched = candidates.minByOption(right => (sign * right.time.get, right.value))
      if (matched.isEmpty && !outer) None else Some((left.group, left.value, left.time, matched.map(_.value)))
    }.groupMapReduce(identity)(_ => 1L)(_ + _)
  }

  /** Entries by their keys, found by their first three columns, too; counts the entries that are
    * read.
    */
  final private class CountingStore extends PrefixStore {
    private val entries = mutable.HashMap.empty[UnsafeRow, mutable.LinkedHashMap[UnsafeRow, UnsafeRow]]
    private val prefix = UnsafeProjection.create(Seq(LongType, IntegerType, LongType).zipWithIndex.map {
      case (dataType, i) => BoundReference(i, dataType, nullable = true)
    })
    var reads = 0

    def size: Int = entries.size

    override def put(key: UnsafeRow, value: UnsafeRow): Unit =
      entries.getOrElseUpdate(prefix(key).copy(), mutable.LinkedHashMap.empty)(key.copy()) = value.copy()

    override def get(key: UnsafeRow): UnsafeRow = {
      reads += 1
      entries.get(prefix(key)).flatMap(_.get(key)).orNull
    }

    override def remove(key: UnsafeRow): Unit = for (of <- entries.get(prefix(key))) {
      of -= key
      if (of.isEmpty) entries -= prefix(key)
    }

    override def scan[A](wanted: UnsafeRow)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
      reads += 1
      read(entries.get(wanted).iterator.flatMap(_.iterator).map { entry => reads += 1; entry })
    }

    override def read[A](read: Iterator[(UnsafeRow, UnsafeRow)] => A): A =
      read(entries.valuesIterator.flatMap(_.iterator))
  }
}
