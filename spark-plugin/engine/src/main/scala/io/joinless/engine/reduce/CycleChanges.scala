package io.joinless.engine.reduce

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.DeltaEnumeration
import io.joinless.engine.view.Annotation

/** The change of the total over a cycle of three components, of whose results nothing is projected:
  * one result without columns, with the sum of all changes ([[CycleSums]]).
  *
  * Projected rows change one by one: deletes first, so that no intermediate sum is larger than it
  * must be. Each state in between is that of a legal database.
  */
final private[reduce] class CycleChanges(join: ReducedJoin) extends SumChanges(join) {
  private[this] val cycle = join.cycle
  private[this] val links = new DeltaEnumeration(join.top, IndexedSeq.empty) // its results are never read
  private[this] val delta = new Array[Long](ring.width)
  private[this] val remaining = Array.fill(roots.length)(new IntStack) // touched rows that are not deleted

  override val rows: Array[Int] = new Array[Int](roots.length)

  private[this] var emitted = false

  override def readBefore(into: Array[Long]): Unit =
    throw new IllegalStateException("the total before the batch is not stored")

  override protected def begin(): Unit = emitted = false

  override protected def seek(): Boolean =
    if (emitted) { end(); false }
    else {
      emitted = true
      apply()
      val changes = !Annotation.isZero(element)
      if (changes) unseen = 1L else end()
      changes
    }

  override protected def skip(): Unit = {
    if (!emitted) apply()
    end()
  }

  /** Applies the batch, and adds up the changes of the total in `element`. */
  private def apply(): Unit = {
    java.util.Arrays.fill(element, 0L)
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
    if (isThere || stays) cycle.change(c, row, delta, element)
    if (isThere && !stays) { links.delete(c, row); links.complete() }
    val _ = roots(c).applyChange(e, delta)
    if (isThere != stays) cycle.settle(c, row, if (stays) 1 else -1)
  }
}
