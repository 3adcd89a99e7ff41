package io.joinless.spark.state.cells

import java.util.UUID

import io.joinless.engine.view.ViewTree
import io.joinless.spark.Blocks._
import io.joinless.spark.spec.RowCodec
import io.joinless.spark.state.log.LogEnd
import org.scalatest.funsuite.AnyFunSuite

class ViewTreeCacheSpec extends AnyFunSuite {

  private val run = UUID.randomUUID()
  private def cell(c: Int, operator: Long = 0) = CellId("checkpoint/state", operator, c)
  private def at(version: Long, run: UUID = run, id: Option[String] = None) = StateVersion(run, version, id)

  private def tree(rows: Int = 0): CellState = {
    val t = new ViewTree(RowCodec.blockDef(path(3)))
    for (_ <- 0 until rows) t.arena(0).reserve(3)
    new CellState(LogEnd.Empty) {
      override val views: ViewTree = t
      override protected def bytesOfParts: Long = 0L
      override def logRows: Long = 0L
    }
  }

  private def filled(cache: ViewTreeCache, cells: Int, version: Long = 1, rows: Int = 0): Unit =
    for (c <- 0 until cells) cache.checkOut(cell(c), at(version - 1)).checkIn(tree(rows), at(version), Long.MaxValue)

  test("a tree is had once, at its version only") {
    val cache = new ViewTreeCache
    filled(cache, 2)
    assert(cache.checkOut(cell(0), at(1)).cached.isDefined)
    assert(cache.checkOut(cell(0), at(1)).cached.isEmpty)
    assert(cache.checkOut(cell(1), at(2)).cached.isEmpty && cache.size == 0)
  }

  test("another checkpoint id of the same version is another state") {
    val cache = new ViewTreeCache
    cache.checkOut(cell(0), at(0)).checkIn(tree(), at(1, id = Some("a")), Long.MaxValue)
    assert(cache.checkOut(cell(0), at(1, id = Some("b"))).cached.isEmpty)
  }

  test("a task that fails checks nothing in") {
    val cache = new ViewTreeCache
    filled(cache, 1)
    val lease = cache.checkOut(cell(0), at(1))
    lease.release()
    lease.checkIn(tree(), at(2), Long.MaxValue)
    assert(cache.size == 0 && cache.bytes == 0)
  }

  test("release after check-in keeps the tree") {
    val cache = new ViewTreeCache
    val lease = cache.checkOut(cell(0), at(0))
    lease.checkIn(tree(), at(1), Long.MaxValue)
    lease.release()
    assert(cache.checkOut(cell(0), at(1)).cached.isDefined)
  }

  test("a check-out drops trees of earlier runs and versions of its operator, and no others") {
    val cache = new ViewTreeCache
    filled(cache, 3)
    cache.checkOut(cell(7, operator = 1), at(0)).checkIn(tree(), at(1), Long.MaxValue)
    cache.checkOut(cell(0), at(1)).checkIn(tree(), at(2), Long.MaxValue)
    assert(cache.size == 4)
    assert(cache.checkOut(cell(0), at(2)).cached.isDefined) // cells 1 and 2 are of version 1
    assert(cache.size == 1)
    assert(cache.checkOut(cell(0), at(2, UUID.randomUUID())).cached.isEmpty)
    assert(cache.checkOut(cell(7, operator = 1), at(1)).cached.isDefined)
  }

  test("a tree that is a batch ahead has that rolled back, once") {
    val cache = new ViewTreeCache
    val before = tree()
    var undone = 0
    val undo = new Undo {
      override def apply(): CellState = { undone += 1; before }
      override def bytes: Long = 1000
    }
    for (version <- Seq(0L, 1L)) { // for the version before, and as it is
      cache.checkOut(cell(0), at(0)).checkIn(tree(), at(1), Long.MaxValue, Some(at(0) -> undo))
      assert(cache.bytes >= 1000)
      val lease = cache.checkOut(cell(0), at(version))
      assert(lease.rolledBack == (version == 0))
      assert(lease.cached.isDefined && lease.cached.exists(_ eq before) == (version == 0))
      assert(undone == 1)
      lease.release()
    }
    cache.checkOut(cell(0), at(3)).checkIn(tree(), at(4), Long.MaxValue, Some(at(3) -> undo))
    assert(cache.checkOut(cell(0), at(2)).cached.isEmpty && undone == 1)
  }

  test("ways back make room before trees do") {
    val cache = new ViewTreeCache
    val undo = new Undo {
      override def apply(): CellState = fail("not called for")
      override def bytes: Long = 1000000
    }
    val each = tree().bytes
    for (c <- 0 until 2) cache.checkOut(cell(c), at(0)).checkIn(tree(), at(1), 2 * each, Some(at(0) -> undo))
    assert(cache.size == 2 && cache.bytes == 2 * each)
    assert(cache.checkOut(cell(0), at(0)).cached.isEmpty)
    assert(cache.checkOut(cell(1), at(1)).cached.isDefined)
  }

  test("trees that are not in use any more are dropped, others stay") {
    val cache = new ViewTreeCache
    filled(cache, 3)
    val checked = scala.collection.mutable.Set.empty[CellId]
    cache.retain { (id, version) => checked += id; version == at(1) && id.cell != 1 }
    assert(checked.size == 3 && cache.size == 2)
    assert(cache.checkOut(cell(1), at(1)).cached.isEmpty && cache.checkOut(cell(2), at(1)).cached.isDefined)
  }

  test("idle trees unused longest make room") {
    val cache = new ViewTreeCache
    filled(cache, 3, rows = 1000)
    val each = cache.bytes / 3
    cache.checkOut(cell(0), at(1)).checkIn(tree(1000), at(1), 3 * each) // used last
    val lease = cache.checkOut(cell(9), at(0))
    lease.resize(each, 3 * each)
    assert(cache.size == 2 && cache.bytes == 3 * each)
    assert(cache.checkOut(cell(1), at(1)).cached.isEmpty)
    assert(cache.checkOut(cell(0), at(1)).cached.isDefined)
  }
}
