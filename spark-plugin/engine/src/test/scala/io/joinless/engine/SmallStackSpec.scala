package io.joinless.engine

import io.joinless.engine.enumerate.FullEnumeration
import io.joinless.engine.oracle.Streams
import io.joinless.engine.query.{JoinTree, RelationNode, ShapesOfQueries}
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.immutable.BitSet

/** No recursion over data: deep chains and large hubs in a thread with 512 KB of stack. */
class SmallStackSpec extends AnyFunSuite {

  test("a chain of twelve relations") {
    for (tree <- Seq(None, Some(path(12)))) inSmallThread {
      val chain = new Streams(ShapesOfQueries.line(12), changelog = true, shape = tree)
      chain.drains = true
      // a ladder: two edges per step, so 2^12 results, and marks that pass through all levels
      val rows = for (r <- 11 to 0 by -1; _ <- 1 to 2) yield r -> chain.add(r, r.toLong, r + 1L)
      assert(count(chain) === 4096)
      for ((r, row) <- rows) chain.remove(Seq(r), row)
      chain.drain()
      assert(chain.tree.isEmpty)
    }
  }

  test("a hub of a million rows") {
    inSmallThread {
      val hub = new Streams(ShapesOfQueries.line(3), changelog = true, shape = Some(path(3)))
      hub.drains = true
      val n = 1000000
      val rows = for (i <- 0 until n) yield hub.add(1, 7L, i.toLong % 3)
      for (i <- 0L to 2L) hub.add(2, i, i)
      val first = hub.add(0, 1L, 7L)
      assert(hub.tree.counters.results === n)
      assert(count(hub) === n)
      hub.remove(Seq(0), first)
      hub.drain()
      assert(hub.tree.counters.results === 3L * n)
      assert(count(hub) === 0)
      rows.foreach(row => hub.remove(Seq(1), row))
      hub.drain()
      assert(hub.tree.rows === 3)
    }
  }

  /** The tree R1 · R2 · R3 …, of maximum depth. */
  private def path(relations: Int): JoinTree =
    (relations - 1 to 0 by -1).foldLeft(IndexedSeq.empty[JoinTree]) { (below, r) =>
      IndexedSeq(RelationNode(r, BitSet(r, r + 1), below))
    }.head

  private def count(stream: Streams): Long = {
    val full = new FullEnumeration(stream.tree, IndexedSeq.empty)
    var n = 0L
    while (full.next()) n += 1
    n
  }

  private def inSmallThread(body: => Any): Unit = {
    var failure: Throwable = null
    val thread = new Thread(
      null,
      () =>
        try { val _ = body }
        catch { case e: Throwable => failure = e },
      "small stack",
      512 * 1024
    )
    thread.start()
    thread.join()
    if (failure != null) throw failure
  }
}
