package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide
import io.joinless.engine.view.ViewNode

/** The positions of all results of a tree: one part. */
final private[engine] class AllResults(counts: ResultCounts) extends Space {
  private[this] val below = new Wide

  override def count(part: Int, node: ViewNode, tuple: Int, into: Wide): Unit = counts.ofTuple(node, tuple, into)

  override def isSingle(part: Int, node: ViewNode): Boolean = node.childCount == 0 && node.repeated == 0L

  override def contains(part: Int, node: ViewNode, tuple: Int): Boolean = true

  /** The digits, from the lowest: the copy of the tuple, then a position under its key to each
    * child. The part is the same everywhere.
    */
  override def split(part: Int, node: ViewNode, tuple: Int, position: Wide, digits: Digits): Unit = {
    digits.takeCopy(position, node.weight(tuple))
    var c = 0
    while (c < node.childCount) {
      counts.ofKey(node.child(c), node.keyTo(c, tuple), below)
      digits.take(position, c, part, below)
      c += 1
    }
  }
}
