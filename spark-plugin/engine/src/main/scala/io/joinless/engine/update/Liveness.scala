package io.joinless.engine.update

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.{ViewNode, ViewTree}

/** Maintains the live views: `live_c(k)` = the live tuples whose key towards child c is k
  * (algorithms A14, invariant I3).
  *
  * If a tuple becomes live, then for each of its keys that had no live tuple before, the alive
  * tuples below become live; and the reverse. Cost: O(1) per mark set or cleared, plus O(1) per
  * child. Work lists replace recursion.
  *
  * Tuples of leaves have no mark. Where a node's `live(c)` is null, a tuple is itself its key
  * towards c: no other tuple has that key, so it always is the key's first and last live tuple.
  */
final private[update] class Liveness(tree: ViewTree) {
  private[this] val pendingNodes = new IntStack
  private[this] val pendingTuples = new IntStack

  /** Marks `tuple` live, which is alive and has a live parent (or is at the root). */
  def mark(node: ViewNode, tuple: Int): Unit = {
    push(node, tuple)
    while (!pendingNodes.isEmpty) {
      val n = tree.nodes(pendingNodes.pop())
      val t = pendingTuples.pop()
      n.state(t) = n.state(t) | ViewNode.LiveMark
      tree.counters.marked += 1
      var c = 0
      while (c < n.childCount) {
        val list = n.live(c)
        val key = n.keyTo(c, t)
        val first = list == null || list.isEmpty(key)
        if (list != null) list.push(key, t)
        if (first) pushAll(n.child(c), key)
        c += 1
      }
    }
  }

  /** Unmarks `tuple`, which was live and is no longer, and all tuples below that are live through
    * it alone. Tuples that have lost their mark already are skipped. V_s (`node.vs`) must still
    * contain the tuple.
    */
  def unmark(node: ViewNode, tuple: Int): Unit = {
    if (node.isMarked(tuple)) push(node, tuple)
    while (!pendingNodes.isEmpty) {
      val n = tree.nodes(pendingNodes.pop())
      val t = pendingTuples.pop()
      if (n.isMarked(t)) {
        n.state(t) = n.state(t) & ~ViewNode.LiveMark
        tree.counters.marked -= 1
        var c = 0
        while (c < n.childCount) {
          val list = n.live(c)
          val key = n.keyTo(c, t)
          if (list != null) list.remove(key, t)
          if (list == null || list.isEmpty(key)) pushAll(n.child(c), key)
          c += 1
        }
      }
    }
  }

  /** Puts a tuple on the work list, unless its node is a leaf: tuples of leaves have no mark. */
  private def push(node: ViewNode, tuple: Int): Unit =
    if (node.childCount > 0) { pendingNodes.push(node.id); pendingTuples.push(tuple) }

  /** Puts the alive tuples of a key on the work list. */
  private def pushAll(node: ViewNode, key: Int): Unit =
    if (node.childCount > 0) {
      var olderLeft = node.vs.count(key)
      var slot = node.vs.first(key)
      while (slot != 0) { push(node, node.vs.tuple(slot)); olderLeft -= 1; slot = node.vs.next(slot, olderLeft) }
    }
}
