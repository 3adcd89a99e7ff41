package io.joinless.engine.update

import io.joinless.engine.view.RelationNode

/** Adds rows to the indexes of their node and removes them: the lists by the row's keys towards
  * children. A row's count is the number of children that support it.
  *
  * V_s and the live views are not changed here, but by [[Propagation]] and [[Liveness]]. Keys are
  * memoized as long as a row is stored (`tuples.TupleKeys`). Cost: one list per child of the node,
  * and one probe per key that no relation of the row has requested before.
  */
private[update] object Links {

  /** Adds a row, which lies in the arena, to the indexes of `node`; sets its count. */
  def link(node: RelationNode, row: Int): Unit = {
    if (!node.isRoot) { val _ = node.toParent.findOrAdd(row, row) }
    if (node.childCount > 0) {
      var supporting = 0 // children
      var c = 0
      while (c < node.childCount) {
        val key = node.toChildren(c).findOrAdd(row, row)
        node.idx(c).push(key, row)
        if (!node.child(c).vs.isEmpty(key)) supporting += 1
        c += 1
      }
      node.state(row) = supporting
    }
  }

  /** Removes a row that is no longer alive in `node` from its indexes. */
  def unlink(node: RelationNode, row: Int): Unit = if (node.childCount > 0) {
    var c = 0
    while (c < node.childCount) {
      node.idx(c).remove(node.down(c)(row), row)
      c += 1
    }
    node.state(row) = 0
  }
}
