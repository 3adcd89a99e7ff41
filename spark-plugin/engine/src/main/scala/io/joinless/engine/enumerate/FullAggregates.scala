package io.joinless.engine.enumerate

import io.joinless.engine.view.ViewTree

/** All groups of a tree's aggregates that have results, with their elements. The tree must not
  * change meanwhile; several readers may read it at the same time.
  */
final class FullAggregates(tree: ViewTree) {
  private[this] val root = tree.root.annotation
  private[this] val limit = if (tree.projectedRows == null) 1 else tree.projectedRows.limit

  /** The group: an id of `tree.projectedRows`; 0 if results are not grouped. */
  var row: Int = -1

  /** The group's element; its first word is the number of results. */
  val element = new Array[Long](root.ring.width)

  def next(): Boolean = {
    row += 1
    while (row < limit && root.isEmpty(row)) row += 1
    row < limit && { root.readPresent(row, element); true }
  }
}
