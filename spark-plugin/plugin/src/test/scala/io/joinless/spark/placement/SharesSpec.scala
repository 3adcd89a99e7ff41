package io.joinless.spark.placement

import scala.util.Random

import io.joinless.spark.Blocks
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.types.{DataType, LongType}
import org.scalatest.funsuite.AnyFunSuite

class SharesSpec extends AnyFunSuite {

  private def path(hops: Int, sharedInput: Boolean = false) = Blocks.path(hops, sharedInput).shape

  private def star(arms: Int) = Blocks.star(arms).shape

  private def block(columns: DataType*)(relations: Seq[(Int, Int)]*) = Blocks.block(columns)(relations: _*).shape

  private def choose(spec: BlockShape, partitions: Int, maxReplication: Double = 4.0) =
    Shares.choose(spec, partitions, maxReplication, ones(spec))

  private def ones(spec: BlockShape) = IndexedSeq.fill(spec.relations.size)(1.0)

  /** Every vector of shares with at most `partitions` cells. */
  private def vectors(attributes: Int, partitions: Int): Iterator[Vector[Int]] =
    if (attributes == 0) Iterator(Vector.empty)
    else (1 to partitions).iterator.flatMap(p => vectors(attributes - 1, partitions / p).map(p +: _))

  test("one partition is one cell") { assert(choose(path(4), 1) == Seq(1, 1, 1)) }

  test("a star is divided at its centre and never replicated") {
    val spec = star(4)
    assert(choose(spec, 7) == Seq(7))
    assert(Placement.of(spec, IndexedSeq(7), ones(spec)).replication == 1.0)
  }

  test("7 partitions are used as 6 cells for a 3-hop path") {
    val shares = choose(path(3), 7)
    assert(shares.product == 6 && shares == Seq(3, 2))
  }

  test("replication of a 3-hop path at 4, 16 and 196 cells") {
    for ((side, times) <- Seq(2 -> 5.0 / 3, 4 -> 3.0, 14 -> 29.0 / 3))
      assert(math.abs(Placement.of(path(3), IndexedSeq(side, side), ones(path(3))).replication - times) < 1e-9)
  }

  test("of a self-join's row at most as many copies are stored as its relations are sent, and as there are cells") {
    for ((side, most) <- Seq(1 -> 1.0, 2 -> 4.0, 4 -> 9.0)) {
      val shared = path(3, sharedInput = true)
      assert(Placement.of(shared, IndexedSeq(side, side), ones(shared)).stored == most)
    }
    val apart = Placement.of(path(3), IndexedSeq(4, 4), ones(path(3)))
    assert(math.abs(apart.stored - apart.replication) < 1e-9)
  }

  test("replication stays below its bound") {
    assert(choose(path(3), 200, 1.0) == Seq(1, 1))
    val shares = choose(path(3), 200, 3.0)
    assert(Placement.of(path(3), shares, ones(path(3))).replication <= 3.0 + 1e-9 && shares.product >= 16)
  }

  test("the bound is one for all roles of a row: the places of a self-join share it") {
    val shared = path(3, sharedInput = true)
    for ((bound, cells) <- Seq(1.0 -> 1, 4.0 -> 4, 6.0 -> 6, 8.0 -> 12, 12.0 -> 30)) {
      val placement = Placement.of(shared, choose(shared, 200, bound), ones(shared))
      assert(placement.cells == cells && placement.stored <= bound, placement)
    }
  }

  test("a cross product without shared attributes is one cell") {
    assert(choose(block(LongType)(Nil, Nil), 8) == Seq.empty)
  }

  test("a relation without keys is replicated to every cell") {
    val spec = block(LongType, LongType)(Seq((0, 0)), Seq((0, 0)), Nil)
    val placement = Placement.of(spec, choose(spec, 4, 2.0), ones(spec))
    assert(placement.cells == 4 && placement.replication == 2.0)
  }

  test("a second column of the same relations gets no share") {
    assert(choose(block(LongType, LongType)(Seq((0, 0), (1, 1)), Seq((0, 0), (1, 1))), 6) == Seq(6, 1))
  }

  test("a generous bound on replication leaves a long path searchable") {
    assert(choose(path(12), 2000, 100.0) == Seq(3, 1, 3, 1, 3, 1, 2, 1, 2, 1, 2))
  }

  test("larger relations are replicated less") {
    val spec = path(3)
    val shares = Shares.choose(spec, 4, 4.0, IndexedSeq(1000.0, 1.0, 1.0))
    assert(shares == Seq(4, 1))
  }

  test("oracle_ shares are the best of all vectors, on random blocks") {
    val random = new Random(7)
    for (round <- 1 to 300) {
      val relations = 1 + random.nextInt(5)
      // a random tree of binary edges between relations, some contracted into one attribute
      val edges = (1 until relations).map(r => (random.nextInt(r), r))
      val names = edges.indices.map(i => if (i > 0 && random.nextInt(3) == 0) i - 1 else i)
      val ids = names.distinct.zipWithIndex.toMap
      val keys = (0 until relations).map { r =>
        edges.indices.filter(i => edges(i)._1 == r || edges(i)._2 == r).map(i => (ids(names(i)), 0)).distinct
      }
      val spec = scala.util.Try(block(LongType)(keys: _*)).toOption
      val inputs = Array.fill(relations)(random.nextInt(relations))
      for (
        s <-
          spec.map(s => s.copy(relations = s.relations.zipWithIndex.map { case (r, i) => r.copy(input = inputs(i)) }))
      ) {
        val partitions = 1 + random.nextInt(24)
        val bound = 1.0 + random.nextInt(8) / 2.0
        val sizes = s.relations.map(_ => 1.0 + random.nextInt(3))
        val chosen = Placement.of(s, Shares.choose(s, partitions, bound, sizes), sizes)
        val best = vectors(s.attributes.size, partitions).map(v => Placement.of(s, v, sizes)).filter(
          _.stored <= bound + 1e-9
        ).map(_.load).min
        assert(chosen.cells <= partitions && chosen.stored <= bound + 1e-9, s"round $round: $chosen")
        assert(chosen.load <= best * (1 + 1e-9), s"round $round: $chosen, best $best, keys $keys")
        assert(Shares.choose(s, partitions, bound, sizes) == chosen.shares, s"round $round: not deterministic")
      }
    }
  }

  test("twelve relations on a thousand partitions: the search ends, within both bounds") {
    val shares = choose(path(12), 1000, 4.0)
    val placement = Placement.of(path(12), shares, IndexedSeq.fill(12)(1.0))
    assert(placement.cells > 1 && placement.cells <= 1000 && placement.replication <= 4.0)
  }
}
