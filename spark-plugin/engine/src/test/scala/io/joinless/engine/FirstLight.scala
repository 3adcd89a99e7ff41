package io.joinless.engine

import io.joinless.engine.enumerate.{DeltaEnumeration, FullEnumeration}
import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view._
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.immutable.BitSet

class FirstLight extends AnyFunSuite {

  private val src = KeyField(0, variable = false)
  private val dst = KeyField(1, variable = false)

  // a(A,B) b(B,C) c(C,D) : B = 0, C = 1
  private def l3(tree: JoinTree, changelog: Boolean) = BlockDef(
    IndexedSeq(InputDef(2, 3, changelog)),
    IndexedSeq.fill(2)(AttributeDef(false)),
    IndexedSeq(
      RelationDef(0, IndexedSeq(0 -> dst)),
      RelationDef(0, IndexedSeq(0 -> src, 1 -> dst)),
      RelationDef(0, IndexedSeq(1 -> src))
    ),
    tree
  )
  private val g1 = RelationNode(0, BitSet(0), IndexedSeq.empty)
  private val g3 = RelationNode(2, BitSet(1), IndexedSeq.empty)
  private val trees = Seq(
    GeneralizedNode(BitSet(1), IndexedSeq(RelationNode(1, BitSet(0, 1), IndexedSeq(g1)), g3)),
    RelationNode(1, BitSet(0, 1), IndexedSeq(g1, g3))
  )

  private def edges(n: Int, v: Int) = {
    val r = new scala.util.Random(42)
    Array.fill(n)((r.nextInt(v).toLong, r.nextInt(v).toLong))
  }

  for ((jt, i) <- trees.zipWithIndex; retract <- Seq(false, true))
    test(s"three-hop self-join, tree $i, retractable $retract") {
      val es = edges(400, 40)
      val tree = new ViewTree(l3(jt, retract))
      val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
      val arena = tree.arena(0)
      val result = new scala.collection.mutable.HashMap[Seq[Int], Long]
      def drain() = while (delta.next()) {
        val k = delta.rows.take(3).toSeq
        val w = result.getOrElse(k, 0L) + delta.weight
        if (w == 0) result -= k else result(k) = w
      }
      val ids = es.map { case (s, d) =>
        val id = arena.append(Array(0L, s, d), 0, 3)
        for (r <- 0 until 3) { delta.insert(r, id); drain() }
        id
      }
      val expected =
        (for (a <- es.indices; b <- es.indices if es(a)._2 == es(b)._1; c <- es.indices if es(b)._2 == es(c)._1)
          yield Seq(ids(a), ids(b), ids(c)) -> 1L).toMap
      assert(result == expected)
      val full = new FullEnumeration(tree, IndexedSeq.empty)
      var n = 0
      while (full.next()) { assert(expected.contains(full.rows.take(3).toSeq)); n += 1 }
      assert(n == expected.size)
      if (retract) {
        for (id <- new scala.util.Random(1).shuffle(ids.toSeq)) {
          for (r <- 0 until 3) { delta.delete(r, id); drain() }
          arena.free(id)
        }
        assert(result.isEmpty)
        assert(tree.isEmpty, s"${tree.rows} ${tree.keys} ${tree.counters.alive} ${tree.counters.marked}")
      }
    }
}
