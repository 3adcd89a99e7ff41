package io.joinless.engine.update

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.{RelationViews, ViewNode, ViewTree}

/** Change propagation without joins (algorithms A16 to A20): inserts one row into one relation, or
  * deletes it.
  *
  * If a tuple becomes alive (supported) under a key without alive tuples, the support of the
  * parent's tuples of that key is incremented, and so on towards the root. Only one node is touched
  * per level, so levels are work lists and nothing recurses. T(7,6) is inserted into R(a,b) ⋈
  * S(b,c) ⋈ T(c,d):
  * {{{
  *            [B] 10 *                   4. 10 is live: S(10,7) is the witness; no change above
  *           /      \
  *   R (1,10) *    S (10,8) *            3. it is alive now, under a key that was in V_p already
  *                   (10,7)  0 → 1       2. S's tuples of key 7 gain support: one step
  *                      |
  *                 T (8,5) *
  *                   (7,6)               1. a leaf is alive; its key 7 is new in V_p
  * }}}
  * Without S(10,8), 10 would be new in V_p of S: one step more, and the tuple 10 of the root would
  * be the witness.
  *
  * Invariant: each result that is inserted (deleted) contains exactly one ''witness'': a tuple that
  * became alive (dies) and is at the root, or whose key was (stays) in V_p and has a live tuple
  * above it. The caller enumerates the results of all witnesses, then calls `finish`, after which
  * I1 to I5 hold again:
  *   - insertion: V_s and counts are changed first, witnesses are enumerated on the new V_s and the
  *     old live views;
  *   - deletion: simulated first, witnesses are enumerated on the unmodified views, then applied
  *     (algorithms A20).
  *
  * In a bag each relation is a root: the row itself is the witness of every change.
  *
  * Cost: O(1) per change, and O(1) per step (`counters.steps`); algorithms A5 bounds the number of
  * steps. The multiplicity of a tuple has no influence.
  */
final private[update] class Propagation(tree: ViewTree) {
  private[this] val liveness = new Liveness(tree)
  private[this] val counters = tree.counters
  private[this] var level = new IntStack
  private[this] var above = new IntStack // the next level, filled while `level` is walked

  /** Witnesses of the pending change: node ids and tuples. */
  val witnessNodes = new IntStack
  val witnessTuples = new IntStack

  // a pending deletion: tuples that die, tuples whose support falls, candidates for witnesses
  private[this] val dyingNodes = new IntStack
  private[this] val dyingTuples = new IntStack
  private[this] val fallingNodes = new IntStack
  private[this] val fallingTuples = new IntStack
  private[this] val candidateNodes = new IntStack
  private[this] val candidateTuples = new IntStack
  private[this] var deleted: RelationViews = null
  private[this] var deletedRow = 0

  /** Inserts a row, which lies in the arena, into the views: fills the witnesses. The live views
    * follow with `finish`.
    */
  def insert(node: RelationViews, row: Int): Unit = {
    Links.link(node, row)
    if (node.isAlive(row)) climb(node, row, appears = true)
  }

  /** Propagates that a tuple becomes alive (`appears`) or will die towards the root, level by
    * level, as long as keys enter or leave V_p.
    */
  private def climb(from: ViewNode, tuple: Int, appears: Boolean): Unit = {
    reach(from, tuple, appears)
    var node = from.parent
    while (!above.isEmpty) {
      val swap = level; level = above; above = swap
      var i = 0
      while (i < level.size) {
        if (appears && node.isSplit) Links.move(node, level(i), toAlive = true)
        reach(node, level(i), appears)
        i += 1
      }
      level.clear()
      node = node.parent
    }
  }

  /** Notes that a tuple becomes alive, or will die, and what follows at the next level. */
  private def reach(node: ViewNode, tuple: Int, appears: Boolean): Unit =
    if (appears) appear(node, tuple) else noteDying(node, tuple)

  /** Adds `tuple` of `node`, which became alive, to V_s. It is a witness if it is live at once. If
    * its key is new in V_p, the support of the tuples above is incremented.
    */
  private def appear(node: ViewNode, tuple: Int): Unit = {
    counters.alive += 1
    if (node.isRoot) {
      if (node.vs != null) node.vs.push(0, tuple)
      witness(node, tuple)
    } else {
      val key = node.key(tuple)
      val first = node.vs.isEmpty(key)
      node.vs.push(key, tuple)
      if (!first) { if (node.isLiveAbove(key)) witness(node, tuple) }
      else countAbove(node, key, up = true)
    }
  }

  /** Propagates that a key of `node` entered V_p (`up`), or will leave it: the parent's tuples with
    * this key gain support, or will lose it.
    */
  private def countAbove(node: ViewNode, key: Int, up: Boolean): Unit = {
    val parent = node.parent
    // without a list, the key is itself the only tuple of the parent that has it
    if (parent.idx(node.position) == null) count(parent, key, up)
    else if (!parent.isSplit) countAll(node, key, up)
    else {
      countAll(node, ViewNode.otherList(key), up)
      if (!up) countAll(node, ViewNode.aliveList(key), up)
    }
  }

  /** `count` of all tuples in a list of the parent's. */
  private def countAll(node: ViewNode, list: Int, up: Boolean): Unit = {
    val lists = node.parent.idx(node.position)
    var slot = lists.first(list)
    while (slot != 0) {
      count(node.parent, lists.tuple(slot), up)
      slot = lists.next(slot)
    }
  }

  /** Notes that a tuple gains support, or will lose it. */
  private def count(node: ViewNode, tuple: Int, up: Boolean): Unit =
    if (up) countUp(node, tuple) else noteFalling(node, tuple)

  /** Increments the support of a tuple. If that makes it alive, it is walked at the next level. */
  private def countUp(node: ViewNode, tuple: Int): Unit = {
    counters.steps += 1
    node.state(tuple) = node.state(tuple) + 1
    if (node.isAlive(tuple)) above.push(tuple)
  }

  /** Adds a tuple to the witnesses of the pending change. */
  private def witness(node: ViewNode, tuple: Int): Unit = {
    witnessNodes.push(node.id)
    witnessTuples.push(tuple)
  }

  /** Simulates the deletion of `row` from `node`: fills the witnesses, changes no view. */
  def delete(node: RelationViews, row: Int): Unit = {
    deleted = node
    deletedRow = row
    if (node.isAlive(row)) climb(node, row, appears = false)
    var i = 0
    while (i < candidateNodes.size) {
      val n = tree.nodes(candidateNodes(i))
      val key = n.key(candidateTuples(i))
      // the key must survive the whole deletion: several of its tuples may die in it (algorithms
      // A20)
      if (n.vs.count(key) > n.dying(key) && n.isLiveAbove(key)) witness(n, candidateTuples(i))
      i += 1
    }
  }

  /** Records that `tuple`, alive so far, dies when the pending deletion is applied; its key may
    * leave V_p then.
    */
  private def noteDying(node: ViewNode, tuple: Int): Unit = {
    dyingNodes.push(node.id)
    dyingTuples.push(tuple)
    if (node.isRoot) witness(node, tuple)
    else {
      val key = node.key(tuple)
      if (node.vs.count(key) > node.dying.add(key, 1)) {
        candidateNodes.push(node.id)
        candidateTuples.push(tuple)
      } else countAbove(node, key, up = false)
    }
  }

  /** Records that the support of `tuple` falls when the pending deletion is applied. If it is alive
    * now, it dies then.
    */
  private def noteFalling(node: ViewNode, tuple: Int): Unit = {
    counters.steps += 1
    fallingNodes.push(node.id)
    fallingTuples.push(tuple)
    if (node.isAlive(tuple)) above.push(tuple)
  }

  /** Completes the pending change, after its witnesses were enumerated. */
  def finish(): Unit = {
    if (deleted == null) {
      var i = 0
      while (i < witnessNodes.size) { liveness.mark(tree.nodes(witnessNodes(i)), witnessTuples(i)); i += 1 }
    } else {
      var i = 0
      while (i < witnessNodes.size) { liveness.unmark(tree.nodes(witnessNodes(i)), witnessTuples(i)); i += 1 }
      applyDeletion()
    }
    witnessNodes.clear()
    witnessTuples.clear()
  }

  /** Applies the simulated deletion, after `unmark`, which reads V_s with the dying tuples. */
  private def applyDeletion(): Unit = {
    var i = 0
    while (i < dyingNodes.size) {
      val n = tree.nodes(dyingNodes(i))
      val t = dyingTuples(i)
      if (n.isRoot) { if (n.vs != null) n.vs.remove(0, t) }
      else { n.dying(n.key(t)) = 0; n.vs.remove(n.key(t), t) }
      if (n.isSplit && ((n ne deleted) || t != deletedRow)) Links.move(n, t, toAlive = false)
      counters.alive -= 1
      i += 1
    }
    i = 0
    while (i < fallingNodes.size) {
      val n = tree.nodes(fallingNodes(i))
      n.state(fallingTuples(i)) = n.state(fallingTuples(i)) - 1
      i += 1
    }
    Links.unlink(deleted, deletedRow)
    deleted = null
    dyingNodes.clear(); dyingTuples.clear()
    fallingNodes.clear(); fallingTuples.clear()
    candidateNodes.clear(); candidateTuples.clear()
  }
}
