package io.joinless.engine.reduce

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.DeltaEnumeration
import io.joinless.engine.view.Annotation

/** The changes of totals over a cycle of three components ([[CycleSums]]): a result for each key,
  * with the sum of all changes; without keys, one result.
  *
  * Projected rows change one by one: deletes first, so that no intermediate sum is larger than it
  * must be. Each state in between is that of a legal database.
  */
final private[reduce] class CycleChanges(join: ReducedJoin) extends SumChanges(join) {
  private[this] val cycle = join.cycle
  private[this] val keyed = cycle.keys.relation
  private[this] val links = new DeltaEnumeration(join.top, IndexedSeq.empty) // its results are never read
  private[this] val delta = new Array[Long](ring.width)
  private[this] val remaining = Array.fill(roots.length)(new IntStack) // touched rows that are not deleted

  /** Only the row of the component that has all keys is set. */
  override val rows: Array[Int] = new Array[Int](roots.length)

  private[this] val totals = new KeyedChanges(ring)
  private[this] var applied = false
  private[this] var next = 0 // of the totals

  override def readBefore(into: Array[Long]): Unit =
    throw new IllegalStateException("the total before the batch is not stored")

  override protected def begin(): Unit = {
    applied = false
    next = 0
  }

  override protected def seek(): Boolean = {
    if (!applied) apply()
    while (next < totals.size) {
      totals.read(next, element)
      rows(keyed) = totals.row(next)
      next += 1
      if (!Annotation.isZero(element)) {
        unseen = 1L << keyed
        return true
      }
    }
    finish()
    false
  }

  override protected def skip(): Unit = {
    if (!applied) apply()
    finish()
  }

  private def finish(): Unit = {
    totals.clear()
    end()
  }

  /** Applies the batch, and adds up the changes of totals. */
  private def apply(): Unit = {
    applied = true
    inTurn(roots(_).touched) { (c, e) =>
      if (roots(c).count(roots(c).key(e)) > 0L && roots(c).signAfter(e) <= 0) change(c, e)
      else remaining(c).push(e)
    }
    inTurn(c => remaining(c).size)((c, i) => change(c, remaining(c)(i)))
    remaining.foreach(_.clear())
  }

  /** Calls `f` with the i-th of each component, for each i: a row that several components have is
    * theirs at about the same i, and its lists are in the caches then.
    */
  private def inTurn(size: Int => Int)(f: (Int, Int) => Unit): Unit = {
    val most = roots.indices.map(size).max
    var i = 0
    while (i < most) {
      var c = 0
      while (c < roots.length) {
        if (i < size(c)) f(c, i)
        c += 1
      }
      i += 1
    }
  }

  /** Applies the change of the e-th touched row of a component. */
  private def change(c: Int, e: Int): Unit = {
    val row = roots(c).key(e)
    val isThere = roots(c).count(row) > 0L
    val stays = roots(c).signAfter(e) > 0
    roots(c).readChange(e, delta)
    if (!isThere && stays) { links.insert(c, row); links.complete() }
    if (isThere || stays) cycle.change(c, row, delta, totals)
    if (isThere && !stays) { links.delete(c, row); links.complete() }
    val _ = roots(c).applyChange(e, delta)
    if (isThere != stays) cycle.settle(c, row, if (stays) 1 else -1)
  }
}
