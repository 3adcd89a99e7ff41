package io.joinless.spark.placement

import scala.util.Random

import io.joinless.spark.Blocks._
import io.joinless.spark.spec.BlockSpec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{Decimal, DecimalType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

class CellsSpec extends AnyFunSuite {

  private def cells(spec: BlockSpec, row: UnsafeRow, roles: Int*): Map[Int, Long] = {
    val c = new Cells(spec)
    for (_ <- 1 to 2) { // cleared completely
      c.clear()
      roles.foreach(c.add(_, row))
    }
    val result = (0 until c.size).map(i => c.cell(i) -> c.roles(i))
    assert(result.map(_._1).distinct.size == result.size)
    result.toMap
  }

  private val l3 = path(3, sharedInput = true).copy(shares = IndexedSeq(2, 3))

  test("every combination of joining rows meets in exactly one cell") {
    val random = new Random(1)
    for (_ <- 1 to 500) {
      val (x, y, z, w) = (random.nextLong(), random.nextLong(), random.nextLong(), random.nextLong())
      val (a, b, c) = (cells(l3, edge(x, y), 0), cells(l3, edge(y, z), 1), cells(l3, edge(z, w), 2))
      assert(a.size == 3 && b.size == 1 && c.size == 2)
      assert((a.keySet & b.keySet & c.keySet).size == 1)
    }
  }

  test("roles of one row are merged per cell") {
    val row = edge(5L, 5L)
    val merged = cells(l3, row, 0, 1, 2)
    for (r <- 0 until 3) assert(merged.filter(m => (m._2 >>> r & 1L) != 0).keySet == cells(l3, row, r).keySet)
    assert(merged.size == 4) // a row, a column and the cell where they cross
  }

  test("cells are spread evenly") {
    val count = new Array[Int](6)
    val c = new Cells(l3)
    val row = edge(0L, 0L)
    for (i <- 0 until 60000) {
      row.setLong(0, i.toLong)
      row.setLong(1, i * 7L)
      c.clear()
      c.add(1, row)
      count(c.cell(0)) += 1
    }
    assert(count.forall(n => math.abs(n - 10000) < 500), count.mkString(", "))
  }

  test("NULL drops a role where it never joins, and is a value where it is null-safe") {
    assert(cells(l3, edge(null, 1L), 1).isEmpty)
    assert(cells(l3, edge(null, 1L), 0).nonEmpty) // not its key
    val safe = block(Seq(LongType, LongType), nullSafe = Set(0))(Seq((0, 0)), Seq((0, 0))).copy(shares = IndexedSeq(5))
    assert(cells(safe, edge(null, 1L), 0).size == 1)
    assert(cells(safe, edge(null, 1L), 0).keySet == cells(safe, edge(null, 2L), 1).keySet)
  }

  test("NULL drops a role also at an attribute with one coordinate") {
    assert(cells(l3.copy(shares = IndexedSeq(1, 1)), edge(null, 1L), 1).isEmpty)
  }

  test("one cell takes all") {
    assert(cells(l3.copy(shares = IndexedSeq(1, 1)), edge(1L, 2L), 0, 1, 2) == Map(0 -> 7L))
  }

  test("variable-length keys are placed by their bytes, wherever they stand in the row") {
    val types = Seq(StringType, DecimalType(30, 2), StringType)
    val spec = block(types)(Seq((0, 0), (1, 1)), Seq((0, 2), (1, 1))).copy(shares = IndexedSeq(4, 3))
    def text(s: String) = UTF8String.fromString(s)
    for (s <- Seq("", "a", "abc", "a long text of more than one word"); d <- Seq("1.00", "12345678901234567890.12")) {
      val decimal = Decimal(BigDecimal(d), 30, 2)
      val left = cells(spec, row(types, text(s), decimal, text("padding of some length")), 0)
      val right = cells(spec, row(types, null, decimal, text(s)), 1)
      assert(left.size == 1 && left.keySet == right.keySet)
    }
  }

  test("format_ version 1: these rows lie in these cells for good") {
    val spec = path(3).copy(shares = IndexedSeq(16, 16))
    assert(Seq(0L, 1L, -1L, 1L << 40).map(k => cells(spec, edge(k, k), 1).keys.head) == Seq(38, 76, 54, 235))
    val texts = block(Seq(StringType))(Seq((0, 0)), Seq((0, 0))).copy(shares = IndexedSeq(1000))
    assert(
      Seq("", "a", "abcd", "Grüße").map(s =>
        cells(texts, row(Seq(StringType), UTF8String.fromString(s)), 0).keys.head
      ) ==
        Seq(949, 364, 601, 349)
    )
  }
}
