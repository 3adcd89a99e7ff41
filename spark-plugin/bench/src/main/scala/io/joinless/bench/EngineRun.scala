package io.joinless.bench

import io.joinless.engine.enumerate.{Run, WordPointers}
import io.joinless.engine.update.{ChangeBatch, DeltaEnumeration, PrefetchedRows}
import io.joinless.engine.view.ViewTree

/** The engine on a [[GraphQuery]]: rows are inserted into the view tree, and the cursor visits
  * every result row.
  */
abstract class EngineRun(query: GraphQuery, deletes: Boolean) extends Maintenance {
  val tree = new ViewTree(query.block(deletes))
  protected val words = new Array[Long](query.rows.words)
  private[this] val columns = query.columns
  private[this] val x = new Array[Long](query.relations + 1)

  private[this] val last = columns - 1
  private[this] val projected = query.verticesByPointer(tree)
  private[this] val vertices = projected.map(_.map(_._1).toArray).toArray // by pointer
  private[this] val offsets = projected.map(_.map(_._2).toArray).toArray
  private[this] val allPointers = (1L << projected.size) - 1
  private[this] var linear = 0L // Σ (2 i + 3) x_i

  // the check is base + by(0) · w(0) + by(1) · w(1) for the words w of the row of relation `inner`,
  // the one that changes within the run
  private[this] var base = 0L
  private[this] val by = new Array[Long](2)
  protected val run = new Run

  var plus, minus, check = 0L

  /** Inserted and deleted rows, each once per relation. */
  protected var changes = 0L

  def stateRows: Long = tree.rows
  def stateBytes: Long = tree.bytes
  override def figures: Seq[(String, Long)] =
    Seq("changes" -> changes, "steps" -> tree.counters.steps, "moves" -> tree.counters.moves)

  /** Visits the rows of the run; `sign` says whether they are inserted or deleted.
    *
    * The check is linear in each row. So of a run only the rows of the relation in which its
    * results differ are read, which is the minimum that a sink would read. Their projected fields
    * are inlined with them, or at keys.
    */
  final protected def visit(pointers: WordPointers, changed: Long, sign: Long): Unit = {
    turnTo(pointers, changed)
    val records = run.records
    var first, second = 0L
    var at = run.from
    val end = at + run.width * run.size
    run.width match {
      case 1 =>
      case 2 => while (at < end) { first += records(at + 1); at += 2 }
      case _ => while (at < end) { first += records(at + 1); second += records(at + 2); at += 3 }
    }
    check += sign * (run.size * base + by(0) * first + by(1) * second)
    if (sign > 0) plus += run.size else minus += run.size
  }

  private def turnTo(pointers: WordPointers, changed: Long): Unit = {
    var left = changed & allPointers
    while (left != 0) {
      val p = java.lang.Long.numberOfTrailingZeros(left)
      left &= left - 1
      val of = vertices(p)
      val page = pointers.pages(p)
      val start = pointers.starts(p)
      var i = 0
      while (i < of.length) {
        val v = of(i)
        val value = page(start + offsets(p)(i))
        linear += (2 * v + 3) * (value - x(v))
        x(v) = value
        i += 1
      }
    }
    val inner = vertices(run.relation)
    base = (x(0) + 7) * (x(last) + 11) + linear
    var i = 0
    while (i < inner.length) {
      val v = inner(i)
      by(i) = 2 * v + 3 + (if (v == 0) x(last) + 11 else 0) + (if (v == last) x(0) + 7 else 0)
      base -= by(i) * x(v)
      i += 1
    }
  }
}

object EngineRun {

  def apply(query: GraphQuery, deletes: Boolean): EngineRun =
    if (deletes) new ChangesRun(query) else new AppendsRun(query)
}

/** For inserts only: each row is inserted separately, when its prefetch group is full. */
final class AppendsRun(query: GraphQuery) extends EngineRun(query, deletes = false) {
  private[this] val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
  private[this] val group = new PrefetchedRows(tree)

  def apply(batch: IndexedSeq[EdgeBatch]): Unit =
    for (input <- batch.indices) {
      val arena = tree.arena(input)
      val edges = batch(input)
      var i = 0
      while (i < edges.size) {
        val roles = query.roles(input, edges.dst(i))
        if (roles != 0) {
          changes += java.lang.Long.bitCount(roles)
          group.add(roles, arena.append(words, 0, query.rows.write(words, edges.src(i), edges.dst(i))))
          if (group.isFull) insert()
        }
        i += 1
      }
      insert()
    }

  private def insert(): Unit = group.drain { (relation, row) =>
    delta.insert(relation, row)
    drain()
  }

  private def drain(): Unit = {
    val pointers = delta.pointers
    while (delta.next(run)) visit(pointers, delta.changed, 1L)
  }
}

/** For inserts and deletes: each batch is netted and applied as a whole. Edges are distinct: each
  * has the multiplicity 0 or 1, so no result is inserted and deleted in one batch.
  */
final class ChangesRun(query: GraphQuery) extends EngineRun(query, deletes = true) {
  private[this] val net = new ChangeBatch(tree, IndexedSeq.empty)

  def apply(batch: IndexedSeq[EdgeBatch]): Unit = {
    for (input <- batch.indices) {
      val edges = batch(input)
      var i = 0
      while (i < edges.size) {
        val roles = query.roles(input, edges.dst(i))
        if (roles != 0) {
          changes += java.lang.Long.bitCount(roles)
          val count = query.rows.write(words, edges.src(i), edges.dst(i))
          net.add(input, roles, edges.weights(i).toLong, words, count)
        }
        i += 1
      }
    }
    val pointers = net.pointers
    while (net.next(run)) visit(pointers, net.changed, net.weight)
  }
}
