package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.tuples.{IntStack, Words}
import io.joinless.engine.update.DeltaEnumeration
import io.joinless.engine.view.Annotation

/** The result changes of a join with a top, which joins the projected rows of the components.
  *
  * Projected rows change one by one: first deletes, then changes of sums, then inserts. Each state
  * in between is that of a legal database. A result may be emitted several times; its changes add
  * up. A row that is present before and after changes no view of the top, only its sum, and only
  * existing results are walked.
  */
final private[reduce] class TopChanges(join: ReducedJoin, residuals: IndexedSeq[Residual]) extends SumChanges(join) {
  import TopChanges._

  private[this] val delta = new DeltaEnumeration(join.top, residuals)
  private[this] val factor = new Array[Long](ring.width) // the change of the pending row's element
  private[this] val change = new Array[Long](ring.width) // scratch: the change of a touched key

  override val rows: Array[Int] = delta.rows

  // per phase and component, indexes into the root's touched keys
  private[this] val phases = Array.fill(Inserted + 1, components.size)(new IntStack)
  private[this] var phase = Deleted
  private[this] var component = 0
  private[this] var position = 0 // index in the list of the phase
  private[this] var touched = 0 // the pending one, an index into its root's touched keys
  private[this] var walking = false // `delta` has results of the pending row

  override def readBefore(into: Array[Long]): Unit =
    throw new IllegalStateException("results of several components are emitted in steps")

  /** Sorts all changes of projected rows into phases, and returns to before the first one. */
  override protected def begin(): Unit = {
    phase = Deleted
    component = 0
    position = 0
    phases.foreach(_.foreach(_.clear()))
    components.indices.foreach(classify)
  }

  /** Moves to the next result whose element changes; after the last one, calls `end` and returns
    * false. The changed projected rows are pending one after the other. The results of each in the
    * top are walked; then its change is applied to the root of its component, unless `classify` has
    * applied it already.
    */
  override protected def seek(): Boolean = {
    while (true) {
      if (walking) {
        while (delta.next()) {
          unseen |= delta.changed // also of results that are passed over
          if (combine()) return true
        }
        applyPending()
      }
      if (!advance()) return false
    }
    false
  }

  override protected def skip(): Unit = while (walking || advance()) {
    delta.complete()
    applyPending()
  }

  /** Sorts the touched keys of a component's root into the phases. A change without effect on
    * results is applied at once. So are all changes of a component whose rows count once, since the
    * result changes do not read their counts.
    */
  private def classify(c: Int): Unit = {
    val sums = roots(c)
    var e = 0
    while (e < sums.touched) {
      val before = sums.count(sums.key(e))
      sums.readChange(e, change)
      val after = before + change(0)
      val wasThere = before > 0L
      val stays = wasThere && after > 0L
      val emits = if (stays) !distinct(c) && !Annotation.isZero(change) else wasThere || after > 0L
      if (distinct(c) || !emits) { val _ = sums.applyChange(e, change) }
      if (emits) phases(if (stays) Remaining else if (wasThere) Deleted else Inserted)(c).push(e)
      e += 1
    }
  }

  /** Starts the next change of a projected row, with its results in the top, and returns true;
    * calls `end` and returns false if there is none left.
    */
  private def advance(): Boolean = {
    while (phase <= Inserted) {
      while (component < roots.length) {
        val rowsOfPhase = phases(phase)(component)
        if (position < rowsOfPhase.size) {
          touched = rowsOfPhase(position)
          startTouched(roots(component))
          return true
        }
        component += 1
        position = 0
      }
      component = 0
      phase += 1
    }
    end()
    false
  }

  /** Starts the results of the pending row. In the top each row counts once. So `reweigh` to 1
    * changes no view: it only walks the row's results.
    */
  private def startTouched(sums: Annotation): Unit = {
    val row = sums.key(touched)
    if (distinct(component)) ring.results(factor, if (phase == Deleted) -1L else 1L)
    else sums.readChange(touched, factor)
    phase match {
      case Deleted => delta.delete(component, row)
      case Remaining => delta.reweigh(component, row, 1L)
      case _ => delta.insert(component, row)
    }
    walking = true
  }

  /** Sets `element` to the pending row's change times the elements of the result's other rows;
    * false if it is 0.
    */
  private def combine(): Boolean = {
    Words.copy(factor, 0, element, 0, element.length)
    var c = 0
    while (c < roots.length) {
      if (c != component && !distinct(c)) {
        val sums = roots(c)
        ring.multiply(element, sums.page(rows(c)), sums.at(rows(c)))
      }
      c += 1
    }
    !Annotation.isZero(element)
  }

  /** Applies the pending row's change, whose results are drained, unless `classify` did. */
  private def applyPending(): Unit = {
    if (!distinct(component)) { val _ = roots(component).applyChange(touched, change) }
    walking = false
    position += 1
  }
}

private object TopChanges {
  // order of the phases: deleted projected rows, rows that remain, inserted rows
  final val Deleted = 0
  final val Remaining = 1
  final val Inserted = 2
}
