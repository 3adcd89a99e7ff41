package io.joinless.engine.update

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.{ViewNode, ViewTree}

/** Keeps the live views: `live_c(k)` = the live tuples whose key towards child c is k (algorithms A14, invariant I3).
  *
  * A tuple that becomes live makes live, below it, the alive tuples of each key that had no live tuple before; and the
  * other way round. Cost O(1) per mark set or taken plus O(1) per child; work lists instead of recursion.
  */
final private[update] class Liveness(tree: ViewTree) {
  private[this] val pendingNodes = new IntStack
  private[this] val pendingTuples = new IntStack

  /** `tuple`, alive and with a live parent (or at the root), becomes live. */
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

  /** `tuple` was live and is not any longer. The views V_s are still those in which it was. */
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

  private def push(node: ViewNode, tuple: Int): Unit =
    if (node.childCount > 0) { pendingNodes.push(node.id); pendingTuples.push(tuple) }

  private def pushAll(node: ViewNode, key: Int): Unit =
    if (node.childCount > 0) {
      var left = node.vs.count(key)
      var slot = node.vs.first(key)
      while (slot != 0) { push(node, node.vs.tuple(slot)); left -= 1; slot = node.vs.next(slot, left) }
    }
}
