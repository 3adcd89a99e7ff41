package io.joinless.bench

import io.joinless.engine.enumerate.Run
import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.update.{ChangeBatch, DeltaEnumeration}
import io.joinless.engine.view.ViewTree

/** The engine on a [[GraphQuery]]: rows go into the view tree, every result row is visited by the cursor. */
abstract class EngineRun(query: GraphQuery, deletes: Boolean) extends Maintenance {
  val tree = new ViewTree(query.block(deletes))
  protected val words = new Array[Long](EngineRun.RowWords)
  private[this] val arenas: Array[TupleArena] = query.inputs.map(tree.arena).toArray
  private[this] val columns = query.columns
  private[this] val x = new Array[Long](query.relations + 1)

  // the check is base + byDst · dst + bySrc · src of the row of relation `inner`, the one that changes now
  private[this] var inner = 0
  private[this] var base, byDst, bySrc = 0L
  protected val run = new Run

  var plus, minus, check = 0L

  def stateRows: Long = tree.rows
  def stateBytes: Long = tree.bytes
  override def figures: Seq[(String, Long)] = Seq("steps" -> tree.counters.steps, "moves" -> tree.counters.moves)

  /** Visits the rows of the run, as ones that come or go by `sign`.
    *
    * The check is linear in each row, so of a run only the rows are read in which its results differ: this is what a sink would
    * have to read.
    */
  final protected def visit(rows: Array[Int], changed: Long, sign: Long): Unit = {
    turnTo(rows, changed)
    val arena = arenas(inner)
    val tuples = run.page
    var src, dst = 0L
    var i = run.from
    while (i < run.until) {
      val page = arena.page(tuples(i))
      val start = arena.start(tuples(i))
      dst += page(start + EngineRun.Dst)
      src += page(start + EngineRun.Src)
      i += 1
    }
    check += sign * (run.size * base + byDst * dst + bySrc * src)
    if (sign > 0) plus += run.size else minus += run.size
  }

  private def turnTo(rows: Array[Int], changed: Long): Unit = {
    var left = changed
    while (left != 0) {
      val r = java.lang.Long.numberOfTrailingZeros(left)
      left &= left - 1
      val page = arenas(r).page(rows(r))
      val start = arenas(r).start(rows(r))
      if (r == 0) x(0) = page(start + EngineRun.Src)
      x(r + 1) = page(start + EngineRun.Dst)
    }
    inner = run.relation
    val last = columns - 1
    byDst = if (inner + 1 > last) 0 else 2 * inner + 5 + (if (inner + 1 == last) x(0) + 7 else 0)
    bySrc = if (inner == 0) 3 + x(last) + 11 else 0
    base = (x(0) + 7) * (x(last) + 11) - byDst * x(inner + 1) - bySrc * x(0)
    var i = 0
    while (i < columns) { base += (2 * i + 3) * x(i); i += 1 }
  }
}

object EngineRun {

  // a row of two bigints: null bits, src, dst
  final val RowWords = 3
  final val Src = 1
  final val Dst = 2

  def apply(query: GraphQuery, deletes: Boolean): EngineRun =
    if (deletes) new ChangesRun(query) else new AppendsRun(query)
}

/** Rows only come: each is inserted by itself. */
final class AppendsRun(query: GraphQuery) extends EngineRun(query, deletes = false) {
  private[this] val delta = new DeltaEnumeration(tree, IndexedSeq.empty)

  def apply(batch: IndexedSeq[EdgeBatch]): Unit =
    for (input <- batch.indices) {
      val arena = tree.arena(input)
      val edges = batch(input)
      var i = 0
      while (i < edges.size) {
        var left = query.roles(input, edges.dst(i))
        if (left != 0) {
          words(EngineRun.Src) = edges.src(i)
          words(EngineRun.Dst) = edges.dst(i)
          val row = arena.append(words, 0, EngineRun.RowWords)
          while (left != 0) {
            delta.insert(java.lang.Long.numberOfTrailingZeros(left), row)
            drain()
            left &= left - 1
          }
        }
        i += 1
      }
    }

  private def drain(): Unit = {
    val rows = delta.rows
    while (delta.next(run)) visit(rows, delta.changed, 1L)
  }
}

/** Rows come and go: each batch is netted and applied as a whole. Edges are distinct: each is there once or not at all, so that
  * no result comes and goes in one batch.
  */
final class ChangesRun(query: GraphQuery) extends EngineRun(query, deletes = true) {
  private[this] val changes = new ChangeBatch(tree, IndexedSeq.empty)

  def apply(batch: IndexedSeq[EdgeBatch]): Unit = {
    for (input <- batch.indices) {
      val edges = batch(input)
      var i = 0
      while (i < edges.size) {
        val roles = query.roles(input, edges.dst(i))
        if (roles != 0) {
          words(EngineRun.Src) = edges.src(i)
          words(EngineRun.Dst) = edges.dst(i)
          changes.add(input, roles, edges.weights(i).toLong, words, EngineRun.RowWords)
        }
        i += 1
      }
    }
    val rows = changes.rows
    while (changes.next(run)) visit(rows, changes.changed, changes.weight)
  }
}
