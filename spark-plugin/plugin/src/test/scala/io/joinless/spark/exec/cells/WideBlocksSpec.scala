package io.joinless.spark.exec.cells

import io.joinless.engine.tuples.TupleArena
import io.joinless.spark.Blocks._
import io.joinless.spark.exec.rows.OutputRow
import io.joinless.spark.spec.{BlockSpec, InputKind, RowCodec}
import org.apache.spark.sql.types.{DataType, LongType}
import org.scalatest.funsuite.AnyFunSuite

/** Sets of relations, columns and keys as bits, at the limit of one word. */
class WideBlocksSpec extends AnyFunSuite {

  private def changelogs(spec: BlockSpec): BlockSpec =
    spec.shaped(_.copy(inputs = spec.inputs.map(_.copy(kind = InputKind.Changelog))))

  for (relations <- Seq(32, 33, 63); shared <- Seq(false, true))
    test(s"the last of $relations relations counts (shared: $shared)") {
      val keys = Seq.fill(relations)(Seq((0, 0)))
      val cluster = new CellCluster(changelogs(block(Seq(LongType, LongType), shared)(keys: _*)))
      def one(i: Int, weight: Long) = Seq(i) -> Seq(row(Seq(LongType, LongType, LongType), 7L, i.toLong, weight))
      assert(cluster.batch((0 until relations - 1).map(one(_, 1L))).flatten.isEmpty)
      val Seq((result, weight)) = cluster.batch(Seq(one(relations - 1, 2L))).flatten: @unchecked
      assert(weight == 2L)
      assert((0 until relations).forall(r => result.getLong(2 * r) == 7L && result.getLong(2 * r + 1) == r.toLong))
      cluster.rebuild()
      assert(cluster.batch(Seq(one(relations - 1, -2L))).flatten.map(_._2) == Seq(-2L))
    }

  test("more relations than bits make no block") {
    assert(
      intercept[IllegalArgumentException](AppendedCell.empty(star(64))).getMessage.contains("at most 63 relations")
    )
  }

  for (columns <- Seq(63, 64, 65, 128, 129)) test(s"each NULL of $columns columns is stored and projected") {
    val types: Seq[DataType] = Seq.fill(columns)(LongType)
    val spec = block(types)(Seq((0, 0)), Seq((0, 0)))
    val arenas = spec.inputs.map(i => new TupleArena(RowCodec.fixedWords(i)))
    val out = new OutputRow(spec, arenas)
    for (hole <- 0 until columns) {
      val values = Seq.tabulate[Any](columns)(c => if (c == hole) null else c.toLong)
      val stored = row(types, values: _*)
      val rows =
        arenas.map(CellTask.append(_, stored.getBaseObject, stored.getBaseOffset, stored.getSizeInBytes)).toArray
      val output = out.update(rows, 3L)
      assert((0 until 2 * columns).filter(output.isNullAt) == Seq(hole, columns + hole))
    }
  }

  for (keys <- Seq(64, 65)) test(s"a NULL in any of $keys null-safe keys distinguishes rows") {
    val types: Seq[DataType] = Seq.fill(keys)(LongType)
    val all = (0 until keys).map(k => (k, k))
    val cluster = new CellCluster(changelogs(block(types, nullSafe = (0 until keys).toSet)(all, all)))
    def one(relation: Int, hole: Int) =
      Seq(relation) -> Seq(row(types :+ LongType, Seq.tabulate[Any](keys)(k => if (k == hole) null else 0L) :+ 1L: _*))
    assert(cluster.batch(Seq(one(0, 0), one(1, keys - 1))).flatten.isEmpty)
    assert(cluster.batch(Seq(one(1, 0))).flatten.map(_._2) == Seq(1L))
  }
}
