package io.joinless.spark.exec.groups

import scala.collection.mutable
import scala.util.{Failure, Random, Success, Try}

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.plans.values.{GroupFunction, OnlyRow, RowOrder}
import io.joinless.spark.spec.{ColumnSpec, FunctionKind, FunctionSpec, GroupShape}
import io.joinless.spark.state.groups.GroupArgument
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.JoinlessRuntimeException
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

/** Batches of rows with a key over a store in memory: the emitted changes are those of the rows,
  * and a batch fails exactly if it leaves a key with several rows.
  */
class KeyCheckSpec extends AnyFunSuite {
  import KeyCheckSpec._

  test("a batch fails if and only if a key has several rows when it ends") {
    val seed = Seeds.of("KeyCheckSpec")
    val rng = new Random(seed)
    var (violated, kept) = (0, 0)
    for (_ <- 0 until 300) {
      val store = new GroupsTaskSpec.StoreInMemory(Seq(LongType))
      val present = mutable.ArrayBuffer.empty[Row]
      val emitted = mutable.Map.empty[Row, Long].withDefaultValue(0L)
      var fails = false
      for (batch <- 0 until 6 if !fails) {
        val deleted = rng.shuffle(present.toSeq).take(rng.nextInt(present.size + 1))
        present --= deleted
        val inserted =
          Seq.fill(rng.nextInt(4))(Row(Option.when(rng.nextInt(5) > 0)(rng.nextInt(8).toLong), rng.nextInt(3).toLong))
        present ++= inserted
        val task = new ChangingGroups(shape, functions, arguments, store, batchOf(rng, inserted, deleted))
        task.read()
        val twice = present.groupBy(_.key).filter(_._2.size > 1)
        Try(task.changes.map(read).toList) match {
          case Success(changes) =>
            kept += 1
            assert(twice.isEmpty, s"seed $seed, batch $batch")
            for ((row, weight) <- changes) {
              emitted(row) += weight
              if (emitted(row) == 0L) emitted -= row
            }
            assert(emitted == present.map(_ -> 1L).toMap, s"seed $seed, batch $batch")
            assert(store.size == present.size, s"seed $seed: an entry per key")
          case Failure(e: JoinlessRuntimeException) =>
            violated += 1
            fails = true
            assert(e.getCondition == "JOINLESS_KEY_VIOLATION")
            val named = twice.map { case (key, rows) => s"${rows.size} rows with id=${key.fold("NULL")(_.toString)}." }
            assert(named.exists(e.getMessage.contains(_)), e.getMessage)
          case Failure(other) => throw other
        }
      }
    }
    assert(violated > 50 && kept > 50)
  }
}

private object KeyCheckSpec {
  final case class Row(key: Option[Long], value: Long)

  private val struct = StructType(Seq(StructField("v", LongType)))
  private val row = BoundReference(1, struct, nullable = false)
  private val functions =
    Seq(GroupFunction(OnlyRow(row, RowOrder(Nil, struct), Seq("id"), "people"), Some(1)))
  private val shape = GroupShape(
    IndexedSeq(ColumnSpec("id", LongType)),
    IndexedSeq(FunctionSpec("only_row(v)", FunctionKind.Only, struct, values = false))
  )
  private def arguments = GroupArgument.of(functions, shape).toArray

  /** A batch as tasks see it: the rows in two partitions, each to totals of its keys. */
  private def batchOf(rng: Random, inserted: Seq[Row], deleted: Seq[Row]): Iterator[InternalRow] = {
    val changes = rng.shuffle(inserted.map(_ -> 1L) ++ deleted.map(_ -> -1L))
    val input = UnsafeProjection.create(Array[DataType](LongType, struct))
    val key = UnsafeProjection.create(Array[DataType](LongType))
    changes.grouped(changes.size / 2 + 1).flatMap { part =>
      val groups = new TouchedGroups(arguments)
      part.foreach { case (r, weight) =>
        val values = input(InternalRow(r.key.orNull, InternalRow(r.value))).copy()
        groups(key(values)).add(values, weight)
      }
      groups.iterator.map { case (group, totals) => new JoinedRow(group, InternalRow(totals.toBytes)).copy() }
    }
  }

  private def read(change: InternalRow): (Row, Long) = {
    val values = change.asInstanceOf[UnsafeRow]
    val key = Option.unless(values.isNullAt(0))(values.getLong(0))
    Row(key, values.getStruct(1, 1).getLong(0)) -> values.getLong(2)
  }
}
