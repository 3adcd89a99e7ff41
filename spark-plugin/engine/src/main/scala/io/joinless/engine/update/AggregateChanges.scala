package io.joinless.engine.update

import io.joinless.engine.view.ViewTree

/** The changes of a tree's aggregates in a batch, after its results were enumerated: for each group
  * whose element changed, the difference. They come from the same state as the results.
  *
  * {{{
  * while (batch.next()) emit(batch.rows, batch.weight)
  * while (batch.aggregates.next()) emit(batch.aggregates.row, batch.aggregates.element)
  * }}}
  */
final class AggregateChanges private[update] (
    tree: ViewTree,
    annotations: TreeAnnotations,
    ready: () => Unit,
    end: () => Unit
) {
  private[this] val root = tree.root.annotation
  private[this] var entry = -1

  /** The change of the group's element; its first word is that of the number of results. */
  val element = new Array[Long](root.ring.width)

  /** The group: an id of `tree.projectedRows`; 0 if results are not grouped. */
  def row: Int = root.key(entry)

  /** The element that the group had before the batch. */
  def readBefore(into: Array[Long]): Unit = root.read(row, into)

  /** Moves to the next group; false after the last one, which ends the batch. Results of the batch
    * that were not read yet are skipped.
    */
  def next(): Boolean = {
    ready()
    entry += 1
    if (entry < root.touched) {
      root.readChange(entry, element)
      true
    } else {
      finish()
      false
    }
  }

  /** Skips the remaining groups, and ends the batch. */
  private[update] def drain(): Unit = { ready(); finish() }

  /** Ends the batch of the annotations, and calls `end`. */
  private def finish(): Unit = {
    annotations.finish()
    entry = -1
    end()
  }
}
