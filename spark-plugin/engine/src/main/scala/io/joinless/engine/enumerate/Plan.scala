package io.joinless.engine.enumerate

import io.joinless.engine.tuples.{IntLists, PagedInts}
import io.joinless.engine.view.{ViewNode, ViewTree}
import scala.collection.mutable.ArrayBuffer

/** In which order the nodes are bound: every node after one of its neighbours, so that no list is empty.
  *
  * From `firstLoose` on any order will do: these are lists whose tuples no other level and no residual looks at.
  */
final private[enumerate] class Plan(val levels: Array[Level]) {
  val firstLoose: Int = {
    val parents = levels.iterator.map(_.from).toSet
    levels.lastIndexWhere(l => l.lists == null || l.residuals != null || parents(l.node)) + 1
  }
}

private[enumerate] object Plan {

  /** Levels that complete a tuple of `start` to full results: up through live parents, then down through V_s. */
  def context(start: ViewNode, residuals: IndexedSeq[Residual]): Plan = {
    val plan = new Builder(residuals, Some(start))
    val path = ArrayBuffer(start)
    while (!path.last.isRoot) {
      val (node, parent) = (path.last, path.last.parent)
      plan.bind(parent, node.id, parent.live(node.position), node.upKeys)
      path += parent
    }
    for (node <- path) descend(plan, node, path)
    new Plan(plan.levels.toArray)
  }

  /** Levels of the full result: all alive tuples of the root, then down. */
  def full(tree: ViewTree, residuals: IndexedSeq[Residual]): Plan = {
    val plan = new Builder(residuals, None)
    plan.bind(tree.root, -1, tree.root.vs, null)
    descend(plan, tree.root, ArrayBuffer.empty)
    new Plan(plan.levels.toArray)
  }

  private def descend(plan: Builder, node: ViewNode, bound: collection.Seq[ViewNode]): Unit =
    for (i <- 0 until node.childCount if !bound.contains(node.child(i))) {
      val child = node.child(i)
      plan.bind(child, node.id, child.vs, node.down(i))
      descend(plan, child, Nil)
    }

  final private class Builder(residuals: IndexedSeq[Residual], start: Option[ViewNode]) {
    val levels = new ArrayBuffer[Level]
    private[this] var bound = start.fold(0L)(_.relations)
    private[this] var waiting = residuals.filterNot(isReady)

    def bind(node: ViewNode, from: Int, lists: IntLists, keys: PagedInts): Unit = {
      bound |= node.relations
      val (ready, later) = waiting.partition(isReady)
      waiting = later
      val conditions = if (ready.isEmpty) null else ready.toArray
      val source = levels.find(l => l.node == from && l.lists != null && l.lists.hasBeside(keys)).orNull
      levels += new Level(node.id, from, lists, keys, source, node.relations, node.multiplicity, conditions)
    }

    private def isReady(condition: Residual): Boolean = condition.relations.forall(r => (bound >>> r & 1L) != 0)
  }
}
