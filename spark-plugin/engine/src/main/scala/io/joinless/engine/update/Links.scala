package io.joinless.engine.update

import io.joinless.engine.view.{RelationViews, ViewNode}

/** Adds rows to the lists of their node by keys towards children, and removes them. A row's support
  * count is the number of children that have an alive tuple for it.
  *
  * V_s, the live views and annotations are not changed here. Keys are memoized as long as a row is
  * stored (`tuples.TupleKeys`). Cost: one list per child of the node, and one probe per key that no
  * relation of the row has requested before.
  */
private[engine] object Links {

  /** Adds a row, which lies in the arena, to the lists of `node`; sets its support count. */
  def link(node: RelationViews, row: Int): Unit = {
    if (node.bag != null) BagLinks.link(node.bag, node.relation, row)
    if (node.toParent != null) { val _ = node.toParent.findOrAdd(row, row) }
    if (node.childCount > 0) {
      var supporting = 0 // children
      var c = 0
      while (c < node.childCount) {
        val key = node.toChildren(c).findOrAdd(row, row)
        if (!node.isSplit) node.idx(c).push(key, row)
        if (node.countsSupport && node.child(c).hasAlive(key)) supporting += 1
        c += 1
      }
      if (node.countsSupport) node.state(row) = supporting
      if (node.isSplit) pushAll(node, row)
    }
  }

  /** Adds a row to the lists of a split node, by whether it is alive now: its support count must be
    * set.
    */
  private def pushAll(node: RelationViews, row: Int): Unit = {
    var c = 0
    while (c < node.childCount) { node.idx(c).push(node.listTo(c, row), row); c += 1 }
  }

  /** Removes a row from the lists of its node. Its state must be that which it had when the lists
    * were last changed.
    */
  def unlink(node: RelationViews, row: Int): Unit = {
    if (node.bag != null) BagLinks.unlink(node.bag, node.relation, row)
    if (node.childCount > 0) {
      var c = 0
      while (c < node.childCount) {
        node.idx(c).remove(node.listTo(c, row), row)
        c += 1
      }
      if (node.countsSupport) node.state(row) = 0
    }
  }

  /** Moves a tuple between the lists of alive tuples and of others, in a node that is split. */
  def move(node: ViewNode, tuple: Int, toAlive: Boolean): Unit = {
    var c = 0
    while (c < node.childCount) {
      val key = node.keyTo(c, tuple)
      val (alive, other) = (ViewNode.aliveList(key), ViewNode.otherList(key))
      node.idx(c).remove(if (toAlive) other else alive, tuple)
      node.idx(c).push(if (toAlive) alive else other, tuple)
      c += 1
    }
  }
}
