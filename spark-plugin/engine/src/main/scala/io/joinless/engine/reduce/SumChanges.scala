package io.joinless.engine.reduce

import io.joinless.engine.view.Annotation

/** Propagates the row changes collected at the nodes through the components, and emits the result
  * changes (algorithms A29). First each component is brought up to date, from the leaves to the
  * root, each key once. With one component its projected rows are the results
  * ([[ProjectedChanges]]), else a top joins the projected rows ([[TopChanges]]).
  *
  * Cost: one step per tuple whose element changes; then constant delay per result.
  */
abstract private[reduce] class SumChanges(join: ReducedJoin) {
  final protected val ring = join.definition.ring
  final protected val components = join.definition.components
  final protected val roots: Array[Annotation] = join.sums.map(_.root)

  /** The components whose rows count once. */
  final protected val distinct: Array[Boolean] = components.map(_.distinct).toArray

  /** The change of the result's element. */
  final val element = new Array[Long](ring.width)

  /** Per component the id of its projected row. */
  def rows: Array[Int]

  /** The components whose row differs from that of the previous result (bit set); for the first
    * result, all.
    */
  final def changed: Long = changedComponents
  private[this] var changedComponents = 0L

  /** The components whose row changed since the last result that `next` returned (bit set), also
    * by results that `seek` passed over because their element does not change.
    */
  final protected var unseen = 0L

  private[this] var started = false

  /** Moves to the next result whose element changes; false if there is none left. Then everything
    * is up to date.
    */
  final def next(): Boolean = {
    start()
    seek() && {
      join.counters.results += 1
      changedComponents = unseen
      unseen = 0L
      true
    }
  }

  /** Skips the remaining results. */
  final def drain(): Unit = {
    start()
    skip()
    unseen = 0L
  }

  /** Propagates the changes through the components. */
  final def start(): Unit = if (!started) {
    started = true
    join.sums.foreach(_.update())
    begin()
  }

  /** Reads the element that the current result had before the batch. For joins with one component.
    */
  def readBefore(into: Array[Long]): Unit

  /** Starts the emission: the components are up to date, except for the sums at their roots. */
  protected def begin(): Unit

  /** Finds the next result whose element changes, and returns true; after the last one, calls `end`
    * and returns false.
    */
  protected def seek(): Boolean

  /** As `seek` up to the last result, without stopping at any; calls `end`. */
  protected def skip(): Unit

  /** Finishes the batch: no key is touched any more, and the next `next` starts another batch. */
  final protected def end(): Unit = {
    roots.foreach(_.clear())
    started = false
  }
}
