package io.joinless.engine.update

import io.joinless.engine.tuples.KeyReader
import io.joinless.engine.view.{RelationNode, ViewNode}

/** Puts rows into the indexes of their node and takes them out: the keys towards its neighbours, and lists by them.
  *
  * V_s and the live views are not touched: [[Propagation]] and [[Liveness]] keep these. Cost: one probe per edge of the node,
  * and one per generalized node above where a key is new there.
  */
private[update] object Links {

  /** Puts a row, which lies in the arena, into the indexes of `node`; sets its count. */
  def link(node: RelationNode, row: Int): Unit = {
    var alive = 0
    var c = 0
    while (c < node.childCount) {
      val child = node.child(c)
      val key = node.downReaders(c).findOrAdd(child.up, row)
      child.up.retain(key)
      node.down(c)(row) = key
      node.idx(c).push(key, row)
      if (!child.vs.isEmpty(key)) alive += 1
      c += 1
    }
    if (node.childCount > 0) node.state(row) = alive
    if (!node.isRoot) linkUp(node, row, node.upReaders, 0, row)
  }

  /** Gives `tuple` of `node` its key above; a key that is new there is itself a tuple of the generalized parent. */
  @scala.annotation.tailrec
  private def linkUp(node: ViewNode, tuple: Int, readers: Array[KeyReader], level: Int, row: Int): Unit = {
    val before = node.up.size
    val key = readers(level).findOrAdd(node.up, row)
    node.up.retain(key)
    node.upKeys(tuple) = key
    if (node.up.size > before && level + 1 < readers.length) linkUp(node.parent, key, readers, level + 1, row)
  }

  /** Takes a row that is no longer alive in `node` out of its indexes; keys nobody refers to any more go. */
  def unlink(node: RelationNode, row: Int): Unit = {
    var c = 0
    while (c < node.childCount) {
      val key = node.down(c)(row)
      node.idx(c).remove(key, row)
      val _ = node.child(c).up.release(key)
      c += 1
    }
    node.state(row) = 0
    if (!node.isRoot) unlinkUp(node, row, node.upReaders.length)
  }

  /** Takes its key above from `tuple` of `node`, and the same from that key where nobody else has it, `levels` in all. */
  @scala.annotation.tailrec
  private def unlinkUp(node: ViewNode, tuple: Int, levels: Int): Unit = {
    val key = node.upKeys(tuple)
    val last = node.up.release(key)
    if (last && levels > 1) unlinkUp(node.parent, key, levels - 1)
  }
}
