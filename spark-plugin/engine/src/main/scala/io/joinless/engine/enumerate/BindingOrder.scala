package io.joinless.engine.enumerate

import io.joinless.engine.tuples.{NotedKeys, RecordLists}
import io.joinless.engine.view.{ViewNode, ViewTree}
import scala.collection.mutable.ArrayBuffer

/** The order in which nodes are bound: every node after one of its neighbours, so that no list is
  * empty.
  *
  * Nodes that a residual reads come first, and among these the nodes of the residual that reads
  * fewest. Example: a star of R, S, T and U, where R is bound and a condition reads R and U. U is
  * bound before S and T, so that combinations the condition rejects are not extended by S and T.
  * From `firstLoose` on any order is correct: no other level and no residual reads the tuples of
  * these levels.
  *
  * @param bag chooses the order anew while results are walked, for relations of a bag; else null
  */
final private[enumerate] class BindingOrder(val levels: Array[Level], val bag: BagWalk = null) {
  val firstLoose: Int = if (bag != null) 0
  else {
    val parents = levels.iterator.map(_.from).toSet
    levels.lastIndexWhere(l => l.lists == null || l.residuals != null || parents(l.nodeId)) + 1
  }
}

private[enumerate] object BindingOrder {

  /** The levels that complete a tuple of `start` to full results: up through live parents, then
    * down through V_s.
    */
  def context(tree: ViewTree, start: ViewNode, residuals: IndexedSeq[Residual]): BindingOrder =
    if (tree.bag != null) ofBag(tree, start.id, residuals) else ordered(around(start), start.relations, residuals)

  /** The levels of the relations of a bag, but for one whose row is bound: −1 for none. */
  private def ofBag(tree: ViewTree, start: Int, residuals: IndexedSeq[Residual]): BindingOrder = {
    val levels = tree.nodes.filter(_.id != start).map(node => level(Walk(node, -1, node.vs, null, null), Nil, null))
    new BindingOrder(levels, new BagWalk(tree, levels, start, residuals))
  }

  /** The levels of the results under a key towards the parent of `start`: its alive tuples that have
    * the key, then as from a tuple. No list is empty if the key is live.
    */
  def underKey(tree: ViewTree, start: ViewNode, residuals: IndexedSeq[Residual]): BindingOrder =
    if (tree.bag != null) full(tree, residuals)
    else ordered(Walk(start, -1, start.vs, null, null) +: around(start), 0L, residuals)

  /** The walks from `start` to all other nodes: up to the parents, then down. */
  private def around(start: ViewNode): Vector[Walk] = {
    val path = Iterator.iterate(start)(_.parent).takeWhile(_ != null).toVector
    val up = path.zip(path.drop(1)).map { case (node, parent) =>
      Walk(parent, node.id, parent.live(node.position), node.upKeys, node)
    }
    direct(up ++ path.flatMap(down(_, path)))
  }

  /** The levels of the full result: all alive tuples of the root, then down. */
  def full(tree: ViewTree, residuals: IndexedSeq[Residual]): BindingOrder =
    if (tree.bag != null) ofBag(tree, -1, residuals)
    else ordered(Walk(tree.root, -1, tree.root.vs, null, null) +: down(tree.root, Nil), 0L, residuals)

  /** Binds a tuple of `node` to one of the node `from`, by a key of the edge from `below` to its
    * parent: see [[Level]].
    */
  final private case class Walk(node: ViewNode, from: Int, lists: RecordLists, keys: NotedKeys, below: ViewNode)

  /** The walks from `node` to all nodes below it, except to children that are `bound` already. */
  private def down(node: ViewNode, bound: Seq[ViewNode]): Vector[Walk] =
    (0 until node.childCount).toVector.filterNot(i => bound.contains(node.child(i))).flatMap { i =>
      Walk(node.child(i), node.id, node.child(i).vs, node.down(i), node.child(i)) +: down(node.child(i), Nil)
    }

  /** The same walks without generalized parents that lead only to their other children. A tuple of
    * such a parent is the key of the tuple below it, and the children are found under this key
    * directly. A generalized parent that leads to its own parent stays, since its tuple's key is
    * needed. From a tuple of S under [B]{R, S·T}:
    * {{{
    * walks     [B] from S by S's key, R from [B] by its tuple
    * direct    R from S by S's key
    * }}}
    */
  private def direct(walks: Vector[Walk]): Vector[Walk] = {
    val skipped = walks
      .filter(w => w.lists == null && walks.forall(onward => onward.from != w.node.id || onward.keys == null))
      .map(w => w.node.id -> w)
      .toMap
    walks.filterNot(w => skipped.contains(w.node.id)).map { w =>
      skipped.get(w.from).fold(w)(parent => w.copy(from = parent.from, keys = parent.keys))
    }
  }

  /** Orders walks for early residuals: takes the walks towards the waiting residual that needs
    * fewest of them, and so on; then the remaining ones. A residual is evaluated at the first level
    * with which all of its relations are bound.
    *
    * @param walks in an order in which each follows the one it starts from
    * @param bound the relations (bit set) that are bound already
    */
  private def ordered(walks: Vector[Walk], bound: Long, residuals: IndexedSeq[Residual]): BindingOrder = {
    val levels = new ArrayBuffer[Level]
    var present = bound
    var walksLeft = walks
    var waiting = residuals.map(_.relationSet).zip(residuals).filter(_._1.&(~bound) != 0)
    while (walksLeft.nonEmpty) {
      val towardsWaiting = waiting.map { case (relations, _) => towards(walksLeft, relations) }
      val nextWalks = towardsWaiting.minByOption(_.size).getOrElse(walksLeft)
      for (walk <- nextWalks) {
        present |= walk.node.relations
        val (ready, later) = waiting.partition(_._1.&(~present) == 0)
        waiting = later
        levels += level(walk, levels, if (ready.isEmpty) null else ready.map(_._2).toArray)
      }
      walksLeft = walksLeft.filterNot(nextWalks.contains)
    }
    new BindingOrder(levels.toArray)
  }

  /** The walks that bind `relations`, and those from which these start, in the order of `walks`. */
  private def towards(walks: Vector[Walk], relations: Long): Vector[Walk] =
    walks
      .foldRight((Vector.empty[Walk], Set.empty[Int])) { case (walk, (taken, needed)) =>
        if (needed(walk.node.id) || (walk.node.relations & relations) != 0) (walk +: taken, needed + walk.from)
        else (taken, needed)
      }
      ._1

  /** The level of a walk, after the levels `before`; it evaluates `residuals` (null: none). */
  private def level(walk: Walk, before: collection.Seq[Level], residuals: Array[Residual]): Level = {
    val inlinesKey = before.find(l => l.nodeId == walk.from && l.lists != null && l.lists.inlines(walk.keys)).orNull
    // the keys of several edges can have the word of one attribute: its pointer is set by the first
    // level that is entered by such a key, since that is entered least often
    val alreadySet = before.foldLeft(0L)(_ | _.setsOnEntry)
    val setHere = if (walk.below == null) Array.empty[Int]
    else walk.below.keyPointers.indices.filter(i => (alreadySet >>> walk.below.keyPointers(i) & 1L) == 0).toArray
    new Level(
      walk.node,
      walk.from,
      walk.lists,
      walk.keys,
      inlinesKey,
      if (setHere.isEmpty) null else walk.below.up,
      setHere.map(walk.below.keyPointers(_)),
      setHere.map(walk.below.keyOffsets(_)),
      residuals
    )
  }
}
