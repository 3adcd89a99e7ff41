package io.joinless.spark.exec.rows

import scala.util.Random

import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** Rows and their emitted forms, byte for byte as Spark would write them, over random types and
  * values.
  */
class EmitChangesSpec extends AnyFunSuite {
  import RandomValues._

  // but intervals: Spark leaves arbitrary data in the bytes of a NULL
  private val all = fixed ++ variable.filter(_ != CalendarIntervalType)

  /** Rows with their weights as Spark writes them, in one buffer that each row overwrites, as
    * operators do.
    */
  private def changes(types: Seq[DataType], rows: Seq[(Seq[Any], Long)]): Iterator[UnsafeRow] = {
    val write = UnsafeProjection.create((types :+ LongType).toArray[DataType])
    rows.iterator.map { case (row, weight) => write(InternalRow.fromSeq(row :+ weight)) }
  }

  private def random(seed: Int): (Seq[DataType], Seq[(Seq[Any], Long)]) = {
    val r = new Random(seed)
    val types = Seq.fill(r.nextInt(if (seed % 10 == 0) 70 else 6))(all(r.nextInt(all.size)))
    // few different rows, so that some are equal
    val rows = Seq.fill(1 + r.nextInt(4))(types.map(value(_, r)))
    (types, Seq.fill(r.nextInt(30))((rows(r.nextInt(rows.size)), r.nextInt(7) - 3L)))
  }

  private def emit(form: DeltaForm, types: Seq[DataType], rows: Iterator[UnsafeRow]): (Seq[InternalRow], Long) = {
    val rowsOut = new SQLMetric("sum")
    val emitted = EmitChanges(form, types.size, rows, rowsOut).map(_.copy()).toVector
    (emitted, rowsOut.value)
  }

  test("a row per copy, with its change type") {
    for (seed <- 0 until 400) {
      val (types, rows) = random(seed)
      val write = UnsafeProjection.create((types :+ StringType).toArray[DataType])
      for (form <- Seq(DeltaForm.ChangeType, DeltaForm.OnClose)) {
        val expected = rows.flatMap { case (row, weight) =>
          val as = UTF8String.fromString(if (weight > 0) "insert" else "delete")
          Seq.fill(math.abs(weight).toInt)(write(InternalRow.fromSeq(row :+ as)).copy())
        }
        assert(emit(form, types, changes(types, rows)) == ((expected, expected.size.toLong)), s"seed $seed, $types")
      }
    }
  }

  test("a row with its weight, as it was; none of weight 0") {
    for (seed <- 0 until 400) {
      val (types, rows) = random(seed)
      val expected = changes(types, rows.filter(_._2 != 0L)).map(_.copy()).toVector
      assert(
        emit(DeltaForm.Weight, types, changes(types, rows)) == ((expected, expected.size.toLong)),
        s"seed $seed, $types"
      )
    }
  }

  test("the smallest weight begins to be emitted") {
    val emitted = EmitChanges(DeltaForm.ChangeType, 0, changes(Nil, Seq((Nil, Long.MinValue))), new SQLMetric("sum"))
    assert(emitted.take(3).map(_.getString(0)).toSeq == Seq("delete", "delete", "delete"))
  }

  test("weights of equal rows are added up, in the order in which rows first occurred") {
    for (seed <- 0 until 400) {
      val (types, rows) = random(seed)
      val net = new NetRows(types.size + 1)
      changes(types, rows).foreach(net.add)
      val found = Iterator.continually(net.next()).takeWhile(identity).map(_ => net.row.copy()).toVector
      // rows are equal if their bytes are
      val plain = changes(types, rows.map(_._1 -> 0L)).map(_.copy()).toVector
      val sums = plain.zip(rows.map(_._2)).groupMapReduce(_._1)(_._2)(_ + _)
      val expected = plain.distinct.filter(sums(_) != 0L).map { row =>
        val net = row.copy()
        net.setLong(types.size, sums(row))
        net
      }
      assert(found == expected, s"seed $seed, $types")
    }
  }
}
