package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.DeltaEnumeration

/** Carries the changes of rows, which their nodes hold, through components and top, and tells what results of the top change by how
  * much (algorithms A29).
  *
  * First each component is brought up to date, from the leaves to the root, each key once. What it shows then changes row by row:
  * rows that go, then those whose sums change, then those that come; each state in between is that of a legal database. A result may
  * be told several times, its changes add up. Where rows stay on both sides of a transition the top's views do not change: their sums
  * alone do, and only results that are there are walked.
  *
  * One component has no top: each row it shows is a result, and is told once.
  *
  * Cost: a step per tuple whose element changes; then one result after the other with constant delay.
  */
final private[reduce] class SumChanges(join: ReducedJoin, residuals: IndexedSeq[Residual]) {
  private[this] val ring = join.definition.ring
  private[this] val components = join.definition.components
  private[this] val delta = if (join.top == null) null else new DeltaEnumeration(join.top, residuals)

  /** What the result counts for, less what it counted for before. */
  val element = new Array[Long](ring.width)
  private[this] val factor = new Array[Long](ring.width)
  private[this] val change = new Array[Long](ring.width)

  /** Per component the id of the row that it shows. */
  val rows: Array[Int] = if (join.top == null) new Array[Int](1) else delta.rows

  /** Components (bit set) whose row differs from that of the result before; all the first time. */
  var changed: Long = 0L
  private[this] var unseen = 0L

  private[this] var started = false
  private[this] var phase = SumChanges.Go
  private[this] var component = 0
  private[this] var entry = 0 // of what the component's root is touched in; the pending one, or the next
  private[this] var at = 0 // in the list of the phase
  private[this] val phases =
    Array.fill(SumChanges.Come + 1, components.size)(new IntStack) // per component, its entries
  private[this] var walking = false // the pending entry is not told to its end

  /** The next result whose element changes; false where there is none left, and all is up to date. */
  def next(): Boolean = {
    start()
    if (delta == null) seekRow() && tell() else nextResult()
  }

  private def nextResult(): Boolean = {
    while (true) {
      if (walking) {
        while (delta.next()) {
          unseen |= delta.changed
          if (combine()) return tell()
        }
        settle()
      }
      if (!advance()) return false
    }
    false
  }

  /** Where there is one component: the next row that it shows, and whose element changes. */
  private def seekRow(): Boolean = {
    val sums = join.root(0).sums
    if (walking) settle()
    while (entry < sums.touched) {
      rows(0) = sums.key(entry)
      val before = sums.count(rows(0))
      sums.readChange(entry, element)
      val after = before + element(0)
      if (components(0).distinct) count(element, once(after) - once(before))
      unseen = 1L
      walking = true
      val isThere = before > 0L || after > 0L
      if (isThere && !SumNode.isZero(element) && (residuals.isEmpty || residuals.forall(_.accept(rows)))) return true
      settle()
    }
    end()
    false
  }

  /** What the result told last counted for before the batch; where there is one component. */
  def readBefore(into: Array[Long]): Unit = {
    require(delta == null, "results of several components are told in steps")
    val sums = join.root(0).sums
    sums.read(rows(0), into)
    if (components(0).distinct) count(into, once(into(0)))
  }

  private def once(count: Long): Long = if (count > 0L) 1L else 0L

  private def count(into: Array[Long], results: Long): Unit = {
    ring.one(into)
    ring.scale(into, results)
  }

  def drain(): Unit = {
    start()
    if (delta == null) while (seekRow()) ()
    else while (walking || advance()) {
      delta.complete()
      settle()
    }
    unseen = 0L
  }

  private def tell(): Boolean = {
    join.counters.results += 1
    changed = unseen
    unseen = 0L
    true
  }

  /** Carries the changes through the components. */
  def start(): Unit = if (!started) {
    started = true
    phase = SumChanges.Go
    component = 0
    entry = 0
    at = 0
    join.nodes.foreach(_.foreach(_.update()))
    if (delta != null) components.indices.foreach(classify)
  }

  /** Puts what a component's root is touched in into the lists of the phases; what does not show is settled. */
  private def classify(c: Int): Unit = {
    val sums = join.root(c).sums
    var e = 0
    while (e < sums.touched) {
      val before = sums.count(sums.key(e))
      sums.readChange(e, change)
      val after = before + change(0)
      val there = before > 0L
      val stays = there && after > 0L
      if (!there && after <= 0L || stays && (components(c).distinct || SumNode.isZero(change))) {
        val _ = sums.settle(e, change)
      } else phases(if (stays) SumChanges.Stay else if (there) SumChanges.Go else SumChanges.Come)(c).push(e)
      e += 1
    }
  }

  /** Starts the next change of what a component shows, with the results that it has in the top; false where there is none left. */
  private def advance(): Boolean = {
    while (phase <= SumChanges.Come) {
      while (component < components.size) {
        val entries = phases(phase)(component)
        if (at < entries.size) {
          entry = entries(at)
          begin(join.root(component).sums)
          return true
        }
        component += 1
        at = 0
      }
      component = 0
      phase += 1
    }
    end()
    false
  }

  private def begin(sums: KeySums): Unit = {
    val row = sums.key(entry)
    sums.readChange(entry, factor)
    phase match {
      case SumChanges.Go =>
        if (components(component).distinct) count(factor, -1L)
        delta.delete(component, row)
      case SumChanges.Stay => delta.reweigh(component, row, 1L)
      case _ =>
        if (components(component).distinct) count(factor, 1L)
        delta.insert(component, row)
    }
    walking = true
  }

  /** The change of the pending row, times the other rows of the result; false where it is 0. */
  private def combine(): Boolean = {
    System.arraycopy(factor, 0, element, 0, element.length)
    var c = 0
    while (c < components.size) {
      if (c != component && !components(c).distinct) {
        val sums = join.root(c).sums
        ring.multiply(element, sums.page(rows(c)), sums.at(rows(c)))
      }
      c += 1
    }
    !SumNode.isZero(element)
  }

  /** The pending change is told. */
  private def settle(): Unit = {
    val _ = join.root(component).sums.settle(entry, change)
    walking = false
    if (delta == null) entry += 1 else at += 1
  }

  private def end(): Unit = {
    components.indices.foreach(join.root(_).sums.clear())
    phases.foreach(_.foreach(_.clear()))
    join.nodes.foreach(_.foreach(_.bury()))
    started = false
  }
}

private object SumChanges {
  // the order of rows that a component shows no more, those it goes on to show, and those it shows anew
  final val Go = 0
  final val Stay = 1
  final val Come = 2
}
