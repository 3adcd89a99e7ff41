package io.joinless.engine.view

import io.joinless.engine.tuples.{IntLists, RecordLists}

/** Recomputes every view from the rows and compares: the invariants of
  * `docs/internals/correctness.md`, for debug runs.
  *
  *   - I1 count(t) = number of children with an alive tuple under t's key;
  *   - I2 t is alive exactly when it is in V_s;
  *   - I3 live_c(k) = the live tuples of the node whose key towards child c is k;
  *   - I4 t is marked live exactly when it is alive and a live tuple of the parent joins it (any,
  *     at the root);
  *   - the words inlined with a tuple of a list equal those of the node and the row;
  *   - I8 in a node that is split, alive tuples and others are in their own lists;
  *   - I9 a key's annotation counts results exactly if the key is in V_p;
  *   - I10 the lists of a bag's relation have its rows;
  *   - I5 V_s(e) is the projection of the join of e's subtree: by I1 and I2 from the leaves
  *     upwards, so checked by those.
  *
  * Costs O(stored rows). I6 and I7 are about deltas: tests check them against a recomputed result.
  */
object Invariants {

  /** Checks a tree of which no change is pending.
    *
    * @throws IllegalStateException naming the invariant, node and tuple
    */
  def check(tree: ViewTree): Unit = {
    var alive = 0L
    var marked = 0L
    var total = 0L
    for (member <- Option(tree.bag).iterator.flatMap(_.members)) {
      val rows = checkMember(tree, member)
      alive += rows.size
      total += tree.relation(member.relation).repeated
    }
    for (node <- tree.nodes if tree.bag == null) {
      val inViews = members(node.vs, if (node.isRoot) 1 else node.up.limit)
      for ((key, tuple) <- inViews)
        ensure(node.isRoot || node.key(tuple) == key, "I2", node, tuple, "stands in V_s under another key")
      val aliveTuples = inViews.map(_._2).toSet
      ensure(aliveTuples.size == inViews.size, "I2", node, -1, "a tuple stands twice in V_s")
      alive += aliveTuples.size
      var repeated = 0L
      for (tuple <- tuples(node, aliveTuples)) {
        if (node.weight(tuple) > 1) repeated += 1
        val supported = (0 until node.childCount).count(c => !node.child(c).vs.isEmpty(node.keyTo(c, tuple)))
        ensure(
          node.support(tuple) == supported,
          "I1",
          node,
          tuple,
          s"count ${node.support(tuple)}, supported by $supported"
        )
        val isInView = aliveTuples(tuple)
        ensure(isInView == (supported == node.childCount), "I2", node, tuple, s"in V_s: $isInView")
        if (node.childCount > 0) {
          val live = isInView && (node.isRoot || node.isLiveAbove(node.key(tuple)))
          ensure(node.isMarked(tuple) == live, "I4", node, tuple, s"marked ${node.isMarked(tuple)}, live $live")
          if (live) marked += 1
        }
      }
      if (repeated != node.repeated)
        throw new IllegalStateException(s"counted ${node.repeated} repeated rows, found $repeated")
      total += repeated
      checkLiveLists(node)
      checkSplit(node)
      if (node.annotation != null && !node.isRoot) checkAnnotation(node)
    }
    ensure(
      alive == tree.counters.alive,
      "I2",
      tree.root,
      -1,
      s"counted ${tree.counters.alive} alive tuples, found $alive"
    )
    if (total != tree.repeated)
      throw new IllegalStateException(s"counted ${tree.repeated} repeated rows, found $total")
    ensure(
      marked == tree.counters.marked,
      "I4",
      tree.root,
      -1,
      s"counted ${tree.counters.marked} live tuples, found $marked"
    )
  }

  /** I10 each list of a bag's relation has the relation's rows, each once and under its key; other
    * rows in it are those of relations that share it. Returns the rows.
    */
  private def checkMember(tree: ViewTree, member: BagIndexes.BagMember): Set[Int] = {
    val node = tree.relation(member.relation)
    val ofLists = member.lists.toIndexedSeq.map { list =>
      val stored = members(list.rows, list.keys.limit)
      val sharing = tree.bag.members.filter(_.lists.exists(_ eq list))
      for ((key, row) <- stored) {
        ensure(list.keys.noted(row) == key, "I10", node, row, "is in a list under another key")
        ensure(sharing.exists(_.has(row)), "I10", node, row, "is in a list, and in no relation")
      }
      ensure(stored.map(_._2).distinct.size == stored.size, "I10", node, -1, "a row is in a list twice")
      stored.map(_._2).filter(member.has).toSet
    }
    val all = ofLists ++ Option(node.vs).map(members(_, 1).map(_._2).toSet)
    ensure(all.distinct.size == 1, "I10", node, -1, "lists have different rows")
    ensure(all.head.count(node.weight(_) > 1) == node.repeated, "I10", node, -1, "the number of repeated rows is wrong")
    all.head
  }

  /** I3 the live lists of a node hold exactly its marked tuples, each once and under its key. */
  private def checkLiveLists(node: ViewNode): Unit =
    for (c <- 0 until node.childCount if node.live(c) != null) {
      val indexed = indexedBy(node, c)
      val live = members(node.live(c), node.child(c).up.limit)
      for ((key, tuple) <- indexed)
        ensure(node.keyTo(c, tuple) == key, "I3", node, tuple, "is indexed under another key")
      ensure(live.size == live.toSet.size, "I3", node, -1, "a live list holds a tuple twice")
      ensure(
        live.toSet == indexed.filter { case (_, t) => node.isMarked(t) }.toSet,
        "I3",
        node,
        -1,
        s"live lists differ for child $c"
      )
    }

  /** All tuples of a node, alive or not; of a leaf only those in V_s, which are `aliveTuples`. */
  private def tuples(node: ViewNode, aliveTuples: Set[Int]): Iterable[Int] =
    if (node.childCount == 0) aliveTuples
    else if (node.idx(0) == null) 0 until node.child(0).up.limit
    else indexedBy(node, 0).map(_._2)

  /** The tuples with their keys towards child `c`, by the lists of these. */
  private def indexedBy(node: ViewNode, c: Int): IndexedSeq[(Int, Int)] = {
    val limit = node.child(c).up.limit
    if (!node.isSplit) members(node.idx(c), limit)
    else members(node.idx(c), 2 * limit).map { case (list, tuple) => (list / 2, tuple) }
  }

  /** I8 a node that is split has its alive tuples in lists of their own. */
  private def checkSplit(node: ViewNode): Unit = if (node.isSplit)
    for (c <- 0 until node.childCount; (list, tuple) <- members(node.idx(c), 2 * node.child(c).up.limit))
      ensure(node.listTo(c, tuple) == list, "I8", node, tuple, "is in the list of the others")

  /** I9 a key has results below it exactly if it is in V_p, and no change is pending. */
  private def checkAnnotation(node: ViewNode): Unit = {
    for (key <- 0 until node.up.limit) {
      val counted = !node.annotation.isEmpty(key)
      ensure(counted == !node.vs.isEmpty(key), "I9", node, -1, s"results under key $key: $counted")
    }
    ensure(node.annotation.touched == 0, "I9", node, -1, "a change is pending")
  }

  /** The tuples of all lists, each with its list's key; the keys are below `keyLimit`. */
  private def members(lists: IntLists, keyLimit: Int): IndexedSeq[(Int, Int)] =
    (0 until keyLimit).flatMap { key =>
      val tuples = Iterator.iterate(lists.first(key))(lists.next).takeWhile(_ != 0).map(s => (key, lists.tuple(s)))
        .toIndexedSeq
      if (tuples.size != lists.count(key))
        throw new IllegalStateException(s"a list of ${lists.count(key)} tuples holds ${tuples.size}")
      tuples
    }

  /** The same; `next` needs the number of older tuples, and behind the oldest one returns 0. */
  private def members(lists: RecordLists, keyLimit: Int): IndexedSeq[(Int, Int)] =
    (0 until keyLimit).flatMap { key =>
      if (!lists.areInlinedRight(key))
        throw new IllegalStateException(s"the words inlined with a tuple of key $key are not its own")
      (lists.count(key) - 1 to 0 by -1).scanLeft(lists.first(key))(lists.next).init.map(slot =>
        (key, lists.tuple(slot))
      )
    }

  /** Throws if an invariant does not hold.
    *
    * @param tuple the tuple at fault; −1 if it is the node as a whole
    * @param what is wrong, as the end of a sentence
    */
  private def ensure(holds: Boolean, invariant: String, node: ViewNode, tuple: Int, what: => String): Unit =
    if (!holds) throw new IllegalStateException(s"$invariant broken at node ${node.id}, tuple $tuple: $what")
}
