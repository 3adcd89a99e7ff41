package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.view.Annotation

/** The result changes of a join with one component: each projected row is a result, and is emitted
  * once.
  */
final private[reduce] class ProjectedChanges(join: ReducedJoin, residuals: IndexedSeq[Residual])
    extends SumChanges(join) {
  private[this] val sums = roots(0)
  private[this] val once = distinct(0)
  private[this] val change = new Array[Long](ring.width)

  override val rows: Array[Int] = new Array[Int](1)

  private[this] var entry = 0 // among the root's touched keys; the pending one, or the next
  private[this] var pending = false // the entry was emitted, but not yet applied

  override def readBefore(into: Array[Long]): Unit = {
    sums.read(rows(0), into)
    if (once) ring.results(into, Annotation.once(into(0)))
  }

  override protected def begin(): Unit = entry = 0

  /** Moves to the next touched key whose element changes, and applies all changes before it. The
    * change of the current result is applied when the next one is requested: until then
    * `readBefore` finds the old element.
    */
  override protected def seek(): Boolean = {
    if (pending) applyPending()
    while (entry < sums.touched) {
      rows(0) = sums.key(entry)
      val before = sums.count(rows(0))
      sums.readChange(entry, element)
      val after = before + element(0)
      if (once) ring.results(element, Annotation.once(after) - Annotation.once(before))
      // the change of a key without results can be a rounding residue, which is not emitted
      val isThere = before > 0L || after > 0L
      if (isThere && !Annotation.isZero(element) && (residuals.isEmpty || residuals.forall(_.accept(rows)))) {
        unseen = 1L
        pending = true
        return true
      }
      applyPending()
    }
    end()
    false
  }

  override protected def skip(): Unit = {
    while (entry < sums.touched) applyPending()
    end()
  }

  /** Adds the change of `entry` to the annotation, and moves on to the next entry. */
  private def applyPending(): Unit = {
    val _ = sums.applyChange(entry, change)
    pending = false
    entry += 1
  }
}
