package io.joinless.engine.update

import io.joinless.engine.view.RelationNode

/** Puts rows into the indexes of their node and takes them out: the lists by their keys towards children, whose number of those that
  * support them is a row's count.
  *
  * V_s and the live views are not touched: [[Propagation]] and [[Liveness]] keep these. Keys are noted for as long as a row is there
  * (`tuples.TupleKeys`). Cost: one list per child of the node, and one probe per key that no relation of the row has asked for before.
  */
private[update] object Links {

  /** Puts a row, which lies in the arena, into the indexes of `node`; sets its count. */
  def link(node: RelationNode, row: Int): Unit = {
    if (!node.isRoot) { val _ = node.toParent.findOrAdd(row, row) }
    if (node.childCount > 0) {
      var alive = 0
      var c = 0
      while (c < node.childCount) {
        val key = node.toChildren(c).findOrAdd(row, row)
        node.idx(c).push(key, row)
        if (!node.child(c).vs.isEmpty(key)) alive += 1
        c += 1
      }
      node.state(row) = alive
    }
  }

  /** Takes a row that is no longer alive in `node` out of its indexes. */
  def unlink(node: RelationNode, row: Int): Unit = if (node.childCount > 0) {
    var c = 0
    while (c < node.childCount) {
      node.idx(c).remove(node.down(c)(row), row)
      c += 1
    }
    node.state(row) = 0
  }
}
