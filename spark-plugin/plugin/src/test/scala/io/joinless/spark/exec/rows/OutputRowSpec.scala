package io.joinless.spark.exec.rows

import scala.util.Random

import io.joinless.engine.enumerate.{Results, Run, WordPointers}
import io.joinless.engine.tuples.{InlinedWords, TupleArena}
import io.joinless.spark.Blocks._
import io.joinless.spark.exec.cells.CellTask
import io.joinless.spark.spec.{BlockSpec, ColumnRef, RowCodec}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

class OutputRowSpec extends AnyFunSuite {

  import RandomValues._

  /** Random results with random changed sets, each compared with Spark's own projection of the
    * joined columns.
    *
    * @param narrow first columns, which are never NULL, are read from keys, and other projected
    *   columns of rows are inlined with them where possible; the first results have no NULL, so
    *   that inlined words suffice
    */
  private def check(
      types: Seq[DataType],
      output: BlockSpec => IndexedSeq[ColumnRef],
      random: Random,
      narrow: Boolean = false
  ): Unit = {
    val plain = block(types)(Seq((0, 0)), Seq((0, 0)), Seq((0, 0)))
    val spec = plain.shaped(_.copy(output = output(plain)))
    val arenas = spec.inputs.map(i => new TupleArena(RowCodec.fixedWords(i)))
    val stored = arenas.map { arena =>
      (0 until 20).map { _ =>
        def first = Iterator.continually(value(types.head, random)).find(!narrow || _ != null).get
        val values = first +: types.tail.map(value(_, random))
        val bytes = row(types, values: _*)
        (CellTask.append(arena, bytes.getBaseObject, bytes.getBaseOffset, bytes.getSizeInBytes), values)
      }
    }
    val outputTypes = spec.output.map(c => types(c.ordinal)).toArray
    val expect = UnsafeProjection.create(outputTypes)
    val columns = outputTypes.zipWithIndex.map { case (t, c) =>
      UnsafeProjection.create(Seq(BoundReference(c, t, nullable = true)))
    }
    val inlined = (0 until 3).map { r =>
      val projected = spec.output.filter(_.relation == r).map(_.ordinal).distinct.filter(_ > 0)
      if (narrow && projected.size <= 2 && projected.forall(c => UnsafeRow.isFixedLength(types(c)))) projected
      else IndexedSeq.empty
    }
    val words = (0 until 3).map { r =>
      if (inlined(r).isEmpty) null
      else new InlinedWords(arenas(spec.relations(r).input), types.size, inlined(r).toArray)
    }
    def place(relation: Int, ordinal: Int) =
      if (narrow && ordinal == 0) Some((3 + relation, 0))
      else Option.when(inlined(relation).contains(ordinal))((relation, inlined(relation).indexOf(ordinal)))
    val out = new OutputRow(spec, arenas, words = words, place = place)
    val places = new WordPointers(6)
    val current = new Array[Int](3)
    def choose(relation: Int, calm: Boolean): Int = {
      val without = stored(relation).indices.filterNot(stored(relation)(_)._2.contains(null))
      if (calm && without.nonEmpty) without(random.nextInt(without.size)) else random.nextInt(20)
    }
    for (i <- 0 until 200) {
      val changed = if (i == 0) 7L else random.nextInt(8).toLong
      for (r <- 0 until 3 if (changed >>> r & 1) != 0) {
        current(r) = choose(r, calm = narrow && i < 100)
        places.pages(r) = Array.fill(5)(random.nextLong())
        places.starts(r) = random.nextInt(3)
        if (words(r) != null) words(r).copy(stored(r)(current(r))._1, places.pages(r), places.starts(r))
        places.pages(3 + r) = Array.fill(5)(random.nextLong())
        places.starts(3 + r) = random.nextInt(5)
        if (narrow) {
          val (id, arena) = (stored(r)(current(r))._1, arenas(spec.relations(r).input))
          places.pages(3 + r)(places.starts(3 + r)) = arena.page(id)(arena.start(id) + RowCodec.nullWords(types.size))
        }
      }
      val rows = Array.tabulate(3)(r => stored(r)(current(r))._1)
      val written = if (narrow) out.update(new OutputRowSpec.OneResult(rows, changed | changed << 3, places))
      else out.update(rows, changed)
      val wanted =
        expect(InternalRow.fromSeq(spec.output.map(c => stored(c.relation)(current(c.relation))._2(c.ordinal))))
      for (c <- outputTypes.indices) {
        assert(written.isNullAt(c) == wanted.isNullAt(c), s"update $i, changed $changed, column $c")
        if (!wanted.isNullAt(c)) assert(
          columns(c)(written).getBytes.toSeq == columns(c)(wanted).getBytes.toSeq,
          s"update $i, changed $changed, column $c"
        )
      }
      assert(written.getSizeInBytes % 8 == 0)
    }
  }

  test("differential_ fixed-width columns") { check(fixed, _.output, new Random(1)) }

  test("differential_ variable-length columns") { check(fixed ++ variable, _.output, new Random(2)) }

  test("differential_ more than 64 columns") {
    check(Seq.fill(9)(fixed ++ variable).flatten, _.output, new Random(3))
    check(Seq.fill(30)(fixed).flatten, _.output, new Random(4))
  }

  test("differential_ some columns, some twice, in any order, and of some relations only") {
    val random = new Random(5)
    for (seed <- 0 until 20)
      check(fixed ++ variable, s => random.shuffle(s.output ++ s.output).take(1 + seed), new Random(seed))
  }

  test("differential_ columns that are inlined with rows or lie at keys, and rows with NULLs among them") {
    val random = new Random(8)
    for (seed <- 0 until 20)
      check(
        fixed ++ variable.take(2),
        s =>
          random.shuffle((0 until 3).flatMap { r =>
            val projected = random.shuffle(s.output.filter(_.relation == r)).take(1 + random.nextInt(3))
            if (seed % 4 == 0) projected ++ projected.take(1) else projected
          }),
        new Random(seed),
        narrow = true
      )
  }

  test("no columns at all") { check(fixed, _ => IndexedSeq.empty, new Random(6)) }

  test("fixed-width rows are byte for byte Spark's") {
    val spec = path(2)
    val arenas = spec.inputs.map(i => new TupleArena(RowCodec.fixedWords(i)))
    val rows = Seq(edge(1L, null), edge(2L, 3L)).zip(arenas).map { case (r, a) =>
      CellTask.append(a, r.getBaseObject, r.getBaseOffset, r.getSizeInBytes)
    }
    val written: UnsafeRow = new OutputRow(spec, arenas).update(rows.toArray, 3L)
    assert(written == row(Seq.fill(4)(LongType), 1L, null, 2L, 3L))
  }
}

private object OutputRowSpec {

  /** One result. */
  final class OneResult(val rows: Array[Int], val changed: Long, val pointers: WordPointers) extends Results {
    def weight: Long = 1L
    def next(): Boolean = false
    def next(run: Run): Boolean = false
  }
}
