package io.joinless.spark.exec

import io.joinless.spark.Blocks._
import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{BooleanType, DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class RolesAndCellsSpec extends AnyFunSuite {

  private def run(spec: BlockSpec, types: Seq[DataType], roles: Seq[Int], rows: Seq[InternalRow]) = {
    var counted = (0L, 0L)
    val it = new RolesAndCells(
      spec,
      roles.toArray,
      rows.iterator,
      UnsafeProjection.create(types.toArray),
      (in, out) => counted = (in, out)
    )
    val result = it.map { r =>
      val u = r.asInstanceOf[UnsafeRow]
      val bytes = u.copy().getBinary(2)
      val stored = new UnsafeRow(types.size)
      stored.pointTo(bytes, bytes.length)
      (u.getInt(0), u.getLong(1), stored)
    }.toList
    assert(counted == ((rows.size.toLong, result.size.toLong)))
    result
  }

  test("a scan of one role: its bytes are the stored row") {
    val edges = Seq(edge(1L, 2L), edge(3L, null), edge(4L, 5L))
    val out = run(path(3), Seq(LongType, LongType), Seq(1), edges)
    assert(out == List((0, 2L, edges(0)), (0, 2L, edges(2))))
  }

  test("a scan of several roles: leading columns are stored, booleans are roles") {
    val types = Seq(LongType, StringType)
    val spec = block(types, sharedInput = true)(Seq((0, 0)), Seq((0, 0)), Seq((0, 0)))
    def scanned(k: Any, s: String, a: Any, b: Any, c: Any) =
      row(types ++ Seq.fill(3)(BooleanType), k, UTF8String.fromString(s), a, b, c)
    def stored(k: Any, s: String) = row(types, k, UTF8String.fromString(s))
    val rows = Seq(
      scanned(1L, "one", true, false, true),
      scanned(2L, "two", false, false, false),
      scanned(3L, "a much longer text than all the others, and than the first buffer" * 9, false, true, null),
      scanned(null, "null", true, true, true)
    )
    val out = run(spec, types, Seq(0, 1, 2), rows)
    assert(out == List((0, 5L, stored(1L, "one")), (0, 2L, stored(3L, rows(2).getUTF8String(1).toString))))
  }

  test("a row is sent to every cell of its roles once") {
    val spec = path(3, sharedInput = true).copy(shares = IndexedSeq(2, 2))
    val types = Seq(LongType, LongType) ++ Seq.fill(3)(BooleanType)
    val out = run(spec, Seq(LongType, LongType), Seq(0, 1, 2), Seq(row(types, 1L, 2L, true, true, true)))
    assert(out.map(_._1).distinct.size == out.size && (out.size == 3 || out.size == 4))
    assert(out.forall(_._3 == edge(1L, 2L)))
  }
}
