package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide
import io.joinless.engine.tuples.PagedWords
import io.joinless.engine.view.{ViewNode, ViewTree}

/** The number of results of the subtree of each node, per key. */
private[engine] trait ResultCounts {
  private[this] val factor = new Wide

  /** The number of results of the node's subtree under a key. */
  def ofKey(node: ViewNode, key: Int, into: Wide): Unit

  /** The number of results of the node's subtree that contain an alive tuple. */
  final def ofTuple(node: ViewNode, tuple: Int, into: Wide): Unit = {
    into.set(node.copies(tuple))
    var c = 0
    while (c < node.childCount) {
      ofKey(node.child(c), node.keyTo(c, tuple), factor)
      into.multiply(factor)
      c += 1
    }
  }
}

/** The number of results of the subtree of each node, per key: computed by one pass over a tree
  * that has no annotation, from the leaves to the root. The tree must not change while they are in
  * use.
  *
  * Under a key of a leaf whose rows count once there are as many as its list is long; nothing is
  * stored for it. Elsewhere a number is two words. Cost: one step per alive tuple.
  */
final private[engine] class SubtreeCounts(tree: ViewTree) extends ResultCounts {
  private[this] val ofKeys: Array[PagedWords] = new Array(tree.nodes.length)
  private[this] val scratch = new Wide

  /** The number of all results; with residual conditions an upper bound. */
  val total = new Wide

  tree.childrenFirst.foreach(count)

  /** Computes the number of each key of a node, or the total at the root. The node's children must
    * have been counted.
    */
  private def count(node: ViewNode): Unit =
    if (node.isRoot) sum(node, 0, total)
    else if (!countsOnce(node)) {
      val counts = new PagedWords(2)
      val of = new Wide
      var key = 0
      while (key < node.up.limit) {
        if (!node.vs.isEmpty(key)) {
          sum(node, key, of)
          counts.reserve(key)
          of.write(counts.page(key), counts.at(key))
        }
        key += 1
      }
      ofKeys(node.id) = counts
    }

  /** Whether each alive tuple is one result of the node's subtree. */
  private def countsOnce(node: ViewNode): Boolean = node.childCount == 0 && node.repeated == 0L

  /** The number of results of the node's subtree under a key, from the counts of its children. */
  private def sum(node: ViewNode, key: Int, into: Wide): Unit = {
    into.set(0L)
    if (countsOnce(node)) into.set(node.vs.count(key).toLong)
    else {
      var older = node.vs.count(key)
      var slot = node.vs.first(key)
      while (slot != 0) {
        ofTuple(node, node.vs.tuple(slot), scratch)
        into.add(scratch)
        older -= 1
        slot = node.vs.next(slot, older)
      }
    }
  }

  override def ofKey(node: ViewNode, key: Int, into: Wide): Unit =
    if (node.isRoot) into.set(total)
    else {
      val counts = ofKeys(node.id)
      if (counts == null) into.set(node.vs.count(key).toLong)
      else if (!counts.holds(key)) into.set(0L)
      else into.read(counts.page(key), counts.at(key))
    }

  def bytes: Long = ofKeys.iterator.filter(_ != null).map(_.bytes).sum
}

/** The same of a tree whose annotations are counts ([[io.joinless.engine.algebra.WideCounts]]). */
final private[engine] class AnnotatedCounts extends ResultCounts {
  override def ofKey(node: ViewNode, key: Int, into: Wide): Unit = node.annotation.readCount(key, into)
}
