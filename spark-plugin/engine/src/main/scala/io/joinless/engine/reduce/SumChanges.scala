package io.joinless.engine.reduce

import io.joinless.engine.enumerate.Residual

/** Carries the changes of rows, which their nodes hold, through the components, and tells what results change by how much
  * (algorithms A29): first each component is brought up to date, from the leaves to the root, each key once. With one
  * component the rows it shows are the results ([[ShownChanges]]), else a top joins what they show ([[TopChanges]]).
  *
  * Cost: a step per tuple whose element changes; then one result after the other with constant delay.
  */
abstract private[reduce] class SumChanges(join: ReducedJoin) {
  final protected val ring = join.definition.ring
  final protected val components = join.definition.components
  final protected val roots: Array[KeySums] = components.indices.map(join.root(_).sums).toArray

  /** Components whose rows count once. */
  final protected val distinct: Array[Boolean] = components.map(_.distinct).toArray

  /** What the result counts for, less what it counted for before. */
  final val element = new Array[Long](ring.width)

  /** Per component the id of the row that it shows. */
  def rows: Array[Int]

  /** Components (bit set) whose row differs from that of the result before; all the first time. */
  final def changed: Long = told
  private[this] var told = 0L
  final protected var unseen = 0L

  private[this] var started = false

  /** The next result whose element changes; false where there is none left, and all is up to date. */
  final def next(): Boolean = {
    start()
    seek() && {
      join.counters.results += 1
      told = unseen
      unseen = 0L
      true
    }
  }

  /** Skips what is left. */
  final def drain(): Unit = {
    start()
    skip()
    unseen = 0L
  }

  /** Carries the changes through the components. */
  final def start(): Unit = if (!started) {
    started = true
    join.nodes.foreach(_.foreach(_.update()))
    begin()
  }

  /** What the result told last counted for before the batch; where there is one component. */
  def readBefore(into: Array[Long]): Unit

  /** The components are up to date, but for what their roots show. */
  protected def begin(): Unit

  /** Finds the next result; with the last one, `end`s. */
  protected def seek(): Boolean

  /** The same without results. */
  protected def skip(): Unit

  final protected def end(): Unit = {
    roots.foreach(_.clear())
    join.nodes.foreach(_.foreach(_.bury()))
    started = false
  }
}

private[reduce] object SumChanges {

  def apply(join: ReducedJoin, residuals: IndexedSeq[Residual]): SumChanges =
    if (join.top == null) new ShownChanges(join, residuals) else new TopChanges(join, residuals)
}
