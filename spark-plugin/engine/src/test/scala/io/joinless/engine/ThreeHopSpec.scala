package io.joinless.engine

import io.joinless.engine.enumerate.{FullEnumeration, Membership}
import io.joinless.engine.query.{GeneralizedNode, JoinTree, RelationNode}
import io.joinless.engine.tuples.KeyField
import io.joinless.engine.update.{ChangeBatch, DeletedRows, DeltaEnumeration}
import io.joinless.engine.view._
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.immutable.BitSet

/** The three-hop self-join, by hand: an example of the engine's use, with correct results on either
  * join tree.
  */
class ThreeHopSpec extends AnyFunSuite {

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
          DeletedRows.free(tree, 0, id)
        }
        assert(result.isEmpty)
        assert(tree.isEmpty, s"${tree.rows} ${tree.keys} ${tree.counters.alive} ${tree.counters.marked}")
      }
    }

  for ((jt, i) <- trees.zipWithIndex) test(s"random netted batches with invariants, tree $i") {
    val rnd = new scala.util.Random(7 + i)
    val tree = new ViewTree(l3(jt, changelog = true))
    val batch = new ChangeBatch(tree, IndexedSeq.empty)
    val member = new Membership(tree)
    val now = new scala.collection.mutable.HashMap[(Int, (Long, Long)), Long].withDefaultValue(0L)
    val result = new scala.collection.mutable.HashMap[Seq[(Long, Long)], Long].withDefaultValue(0L)
    val arena = tree.arena(0)
    def edge(id: Int) = (arena.page(id)(arena.start(id) + 1), arena.page(id)(arena.start(id) + 2))
    for (round <- 1 to 600) {
      val drain = round % 100 == 0
      val changes = if (drain) now.toSeq.map { case ((r, e), m) => (1L << r, e, -m) }
      else Seq.fill(rnd.nextInt(12)) {
        val mask = 1L + rnd.nextInt(7)
        (mask, (rnd.nextInt(4).toLong, rnd.nextInt(4).toLong), if (rnd.nextBoolean()) 1L else -1L)
      }
      val next = now.clone().withDefaultValue(0L)
      for ((mask, e, w) <- changes; r <- 0 until 3 if (mask >> r & 1) == 1) next((r, e)) += w
      next.filterInPlace((_, w) => w != 0)
      changes.foreach { case (mask, (s, d), w) => batch.add(0, mask, w, Array(0L, s, d), 3) }
      if (next.values.exists(_ < 0)) { val _ = intercept[io.joinless.engine.update.DeleteOfAbsentRow](batch.next()) }
      else {
        while (batch.next()) {
          val k = batch.rows.take(3).toSeq.map(edge)
          result(k) += batch.weight
          if (result(k) == 0) result -= k
        }
        now.clear(); now ++= next
      }
      val rel = (0 until 3).map(r => now.toSeq.collect { case ((`r`, e), m) => e -> m })
      val expected = (for ((a, x) <- rel(0); (b, y) <- rel(1) if a._2 == b._1; (c, z) <- rel(2) if b._2 == c._1)
        yield Seq(a, b, c) -> x * y * z).toMap
      assert(result.toMap == expected, s"round $round")
      Invariants.check(tree)
      for (_ <- 1 to 5) {
        val k = Seq.fill(3)((rnd.nextInt(4).toLong, rnd.nextInt(4).toLong))
        assert(member.weight(k.map { case (s, d) => Array(0L, s, d) }.toIndexedSeq) == expected.getOrElse(k, 0L))
      }
      if (drain) assert(tree.isEmpty)
    }
  }
}
