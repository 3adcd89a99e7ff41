package io.joinless.spark.exec.groups

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.plans.values.GroupFunction
import io.joinless.spark.spec.{ColumnSpec, FunctionKind, FunctionSpec, GroupShape, TimeSpec}
import io.joinless.spark.state.groups.GroupArgument
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.{BoundReference, JoinedRow, Literal, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.PrefixStore
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Batches of groups over a store in memory: the emitted changes add up to the groups of all rows,
  * and deleted groups leave no state.
  */
class GroupsTaskSpec extends AnyFunSuite {
  import GroupsTaskSpec._

  private val seed = Seeds.of("GroupsTaskSpec")
  private val rng = new Random(seed)

  private def row(): Row = {
    def some(n: Int): Option[Long] = Option.when(rng.nextInt(6) > 0)(rng.nextInt(n).toLong - 2)
    Row(some(4), some(9), some(12).map(_ / 4.0))
  }

  /** A batch as tasks see it: the rows in two partitions, each to totals of its groups. */
  private def partial(changes: Seq[(Row, Long)], keys: Int, retracts: Boolean): Iterator[InternalRow] =
    rng.shuffle(changes).grouped(changes.size / 2 + 1).flatMap { part =>
      val groups = new TouchedGroups(arguments(keys, retracts))
      val key = UnsafeProjection.create(Array.fill[DataType](keys)(LongType))
      part.foreach { case (row, weight) => groups(key(row.input(keys))).add(row.input(keys), weight) }
      groups.iterator.map { case (group, totals) => new JoinedRow(group, InternalRow(totals.toBytes)).copy() }
    }

  private def check(keys: Int, retracts: Boolean): Unit = {
    val store = new StoreInMemory(Seq.fill(keys)(LongType))
    val present = mutable.ArrayBuffer.empty[Row]
    val emitted = mutable.Map.empty[Seq[Any], Long].withDefaultValue(0L)
    for (batch <- 0 until 8) {
      val inserted = Seq.fill(rng.nextInt(10))(row())
      val deleted = if (retracts) rng.shuffle(present.toSeq).take(rng.nextInt(present.size + 1)) else Nil
      present ++= inserted
      deleted.foreach(present -= _)
      val task = new ChangingGroups(
        shape(keys, retracts),
        functions(keys),
        arguments(keys, retracts),
        store,
        partial(inserted.map(_ -> 1L) ++ deleted.map(_ -> -1L), keys, retracts)
      )
      task.read()
      for (change <- task.changes) {
        val values = change.asInstanceOf[UnsafeRow].toSeq(schema(keys))
        emitted(values.init) += values.last.asInstanceOf[Long]
        if (emitted(values.init) == 0L) emitted -= values.init
      }
      val expected = groups(present.toSeq, keys).map(_ -> 1L).toMap
      assert(emitted == expected, s"seed $seed, batch $batch, $keys keys")
      if (retracts && present.isEmpty) assert(store.size == (if (keys == 0) 1 else 0), s"seed $seed: entries stay")
    }
  }

  private def groups(rows: Seq[Row], keys: Int): Iterable[Seq[Any]] = {
    val by = rows.groupBy(_.group)
    if (keys == 0) Seq(values(rows)) else by.map { case (group, members) => boxed(group) +: values(members) }
  }

  for (keys <- 0 to 1; retracts <- Seq(false, true))
    test(s"$keys grouping columns, rows are ${if (retracts) "inserted and deleted" else "inserted"}") {
      for (_ <- 0 until 60) check(keys, retracts)
    }

  test("a row is late where its group is closed, and not where it has no time") {
    val millis = Seq(Some(5L), None, Some(20L), None, Some(10L))
    val rows = partial(millis.map(time => Row(time.map(_ * 1000), Some(1), None) -> 1L), 1, retracts = false)
    val closing = shape(1, retracts = false).copy(
      columns = IndexedSeq(ColumnSpec("time", TimestampType)),
      closes = IndexedSeq(TimeSpec(0, 0L))
    )
    val store = new StoreInMemory(Seq(LongType))
    val task =
      new ClosingGroups(
        closing,
        functions(1),
        arguments(1, retracts = false),
        store,
        rows,
        lateUntil = 10,
        watermark = 15
      )
    task.read()
    assert(task.late == 2 && task.changes.isEmpty && task.nextClose == 20)
  }

  test("a group that loses more rows than it has is no result") {
    val rows = partial(Seq(Row(Some(1), Some(1), None) -> -1L), 1, retracts = true)
    val task = new ChangingGroups(shape(1), functions(1), arguments(1), new StoreInMemory(Seq(LongType)), rows)
    task.read()
    assert(intercept[IllegalStateException](task.changes.toSeq).getMessage.contains("-1"))
  }
}

private object GroupsTaskSpec {

  final case class Row(group: Option[Long], x: Option[Long], d: Option[Double]) {

    /** A row of the groups' input: the grouping column, if any, and an argument per function that
      * has one.
      */
    def input(keys: Int): UnsafeRow = {
      val columns = Seq.fill(keys)(LongType) ++ argumentTypes
      val values = Seq.fill(keys)(boxed(group)) ++
        Seq(boxed(x), boxed(x), boxed(d), boxed(x), boxed(d), boxed(x), boxed(x), boxed(d))
      UnsafeProjection.create(columns.toArray[DataType])(InternalRow.fromSeq(values)).copy()
    }
  }

  def boxed(value: Option[Any]): Any = value.orNull

  private val kinds = Seq(
    (FunctionKind.Counted, LongType, false),
    (FunctionKind.Summed, LongType, false),
    (FunctionKind.Summed, DoubleType, false),
    (FunctionKind.Least, LongType, true),
    (FunctionKind.Greatest, DoubleType, true),
    (FunctionKind.Counted, LongType, true),
    (FunctionKind.Summed, LongType, true),
    (FunctionKind.Summed, DoubleType, true)
  )

  private val argumentTypes: Seq[DataType] = kinds.map(_._2)

  /** @param retracts rows can be deleted, so that extremes need the values */
  def arguments(keys: Int, retracts: Boolean = true): Array[GroupArgument] = kinds.zipWithIndex.map {
    case ((kind @ (FunctionKind.Least | FunctionKind.Greatest), dataType, _), i) =>
      GroupArgument(keys + i, dataType, kind, retracts)
    case ((kind, dataType, values), i) => GroupArgument(keys + i, dataType, kind, values)
  }.toArray

  def shape(keys: Int, retracts: Boolean = true): GroupShape = GroupShape(
    IndexedSeq.tabulate(keys)(i => ColumnSpec(s"k$i", LongType)),
    arguments(keys, retracts).map(a => FunctionSpec("f", a.kind, a.dataType, a.values)).toIndexedSeq
  )

  def functions(keys: Int): Seq[GroupFunction] = {
    def at(i: Int) = BoundReference(keys + i, argumentTypes(i), nullable = true)
    val of = Seq[DeclarativeAggregate](
      Count(Literal(1)),
      Sum(at(1)),
      Average(at(2)),
      Min(at(3)),
      Max(at(4)),
      Count(Literal(1)),
      Sum(at(6)),
      Average(at(7))
    )
    GroupFunction(Count(Literal(1)), None) +: of.zipWithIndex.map { case (f, i) => GroupFunction(f, Some(keys + i)) }
  }

  def schema(keys: Int): StructType = StructType(
    (Seq.fill(keys)(LongType) ++ functions(keys).map(_.function.dataType) :+ LongType).zipWithIndex.map {
      case (dataType, i) => StructField(s"c$i", dataType)
    }
  )

  /** The values of the functions, computed from the rows. */
  def values(rows: Seq[Row]): Seq[Any] = {
    val (xs, ds) = (rows.flatMap(_.x), rows.flatMap(_.d))
    def average(of: Seq[Double]) = Option.when(of.nonEmpty)(of.sum / of.size)
    Seq[Any](
      rows.size.toLong,
      xs.size.toLong,
      boxed(xs.reduceOption(_ + _)),
      boxed(average(ds)),
      boxed(xs.minOption),
      boxed(ds.maxOption),
      xs.distinct.size.toLong,
      boxed(xs.distinct.reduceOption(_ + _)),
      boxed(average(ds.distinct))
    )
  }

  /** Entries by their keys, found by the grouping columns (of the types `keys`) and the function,
    * too.
    */
  final class StoreInMemory(keys: Seq[DataType]) extends PrefixStore {
    private val entries = mutable.LinkedHashMap.empty[UnsafeRow, UnsafeRow]
    private val prefix =
      UnsafeProjection.create((keys :+ IntegerType).zipWithIndex.map { case (dataType, i) =>
        BoundReference(i, dataType, nullable = true)
      })

    def size: Int = entries.size
    override def put(key: UnsafeRow, value: UnsafeRow): Unit = entries(key.copy()) = value.copy()
    override def get(key: UnsafeRow): UnsafeRow = entries.getOrElse(key, null)
    override def remove(key: UnsafeRow): Unit = assert(entries.remove(key).isDefined, "removes what is not there")
    override def scan[A](wanted: UnsafeRow)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A =
      read(entries.iterator.filter { case (key, _) => prefix(key) == wanted })
    override def read[A](read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = read(entries.iterator)
  }
}
