package io.joinless.engine.update

import io.joinless.engine.tuples.{IntStack, PagedLongs, TouchedTuples, Words}
import io.joinless.engine.view.{Annotation, Counters, RelationViews, ViewNode, ViewTree}

/** Brings the annotations of an enumerated tree up to date with a batch that was applied to its
  * rows and views: one pass from the leaves to the root, each touched key once (algorithms A47).
  *
  * {{{
  * annotations.change(relation, row, before, after)    for each row that the batch changed
  * annotations.update()                                once the views are those after the batch
  * }}}
  * The views have the rows after the batch, the annotations those before it. A node takes over, in
  * this order,
  *   1. the changes of its own rows, with the elements of all children as before;
  *   1. keys of children that lost their last result: all tuples under them contribute nothing from
  *      here on. So what is not alive now contributes nothing;
  *   1. all other changed keys of children: the alive tuples under them contribute the difference.
  *
  * No key counts once here (`isDistinct`), as results are enumerated one by one.
  *
  * The sum of these is the difference of the node's elements before and after: children are taken
  * over one after the other, so that each step changes one factor. The keys of deleted rows are
  * read, so the pass precedes the end of the batch, which forgets them.
  *
  * Cost: one step per changed row, per tuple under a key that entered or left V_p (each had a step
  * of [[Propagation]], too), and per alive tuple under a key whose element changed.
  */
final private[engine] class TreeAnnotations(tree: ViewTree) {
  private[this] val ring = tree.root.annotation.ring

  /** Counts the steps of annotations. */
  val counters = new Counters
  private[this] var keeps = false // changes stay after they are applied
  private[this] var touchedAtRoot: TouchedTuples = null // null: nobody requests them
  private[this] val nodes: Array[NodePass] = tree.childrenFirst.map(new NodePass(_))
  private[this] val ofRelation: Array[NodePass] =
    tree.block.relations.indices.map(r => nodes.find(_.node eq tree.relation(r)).get).toArray

  /** Notes the counts of a row in a relation before and after the batch. */
  def change(relation: Int, row: Int, before: Long, after: Long): Unit = {
    val difference = math.max(after, 0L) - math.max(before, 0L)
    if (difference != 0L) ofRelation(relation).change(row, difference)
  }

  /** Notes the net changes of a batch that was applied. */
  def change(changes: CollectedChanges): Unit = {
    var e = 0
    while (e < changes.size) {
      if (changes.change(e) != 0L) {
        var roles = changes.roles(e)
        while (roles != 0L) {
          change(java.lang.Long.numberOfTrailingZeros(roles), changes.row(e), changes.before(e), changes.after(e))
          roles &= roles - 1
        }
      }
      e += 1
    }
    var i = 0
    while (i < changes.appends) {
      change(changes.appendedRelation(i), changes.appendedRow(i), 0L, 1L)
      i += 1
    }
  }

  /** Brings all annotations up to date except the root's, whose changes are pending: they can be
    * read before `finish` adds them.
    */
  def update(): Unit = nodes.foreach(_.update())

  /** As `update`; also notes the tuples of the root whose results change. */
  def update(touched: TouchedTuples): Unit = {
    touchedAtRoot = touched
    update()
    touchedAtRoot = null
  }

  /** As `update`, after a batch that only inserts; also notes the tuples of the root that are in new
    * results. The elements are those after the batch then. The changes of all keys, those of the
    * root included, stay readable until `forget`.
    */
  def updateAndKeep(touched: TouchedTuples): Unit = {
    keeps = true
    touchedAtRoot = touched
    update()
    val change = new Array[Long](ring.width)
    val root = tree.root.annotation
    for (i <- 0 until root.touched) { val _ = root.applyChange(i, change, keep = true) }
  }

  /** Ends what `updateAndKeep` began. */
  def forget(): Unit = {
    keeps = false
    touchedAtRoot = null
    tree.nodes.foreach(_.annotation.clearKept())
  }

  /** Adds the pending changes to the root's annotation. */
  def finish(): Unit = tree.root.annotation.applyAll()

  /** The pass over one node. */
  final private class NodePass(val node: ViewNode) {
    private[this] val contribution = new Contribution(node, ring, counters)
    private[this] val delta = new Array[Long](ring.width)
    private[this] val isAtRoot = node.isRoot
    private[this] val rows = new IntStack
    private[this] val differences = new PagedLongs

    def change(row: Int, difference: Long): Unit = {
      differences(rows.size) = difference
      rows.push(row)
    }

    def update(): Unit = {
      updateRows()
      var c = 0
      while (c < node.childCount) { loseKeys(c); c += 1 }
      c = 0
      while (c < node.childCount) { changeKeys(c); c += 1 }
    }

    /** Adds the contributions of the node's own changed rows, with the elements that their keys have
      * before the children's changes.
      */
    private def updateRows(): Unit = {
      var i = 0
      while (i < rows.size) {
        if (contribution.isSupported(rows(i), except = -1)) {
          ring.results(contribution.product, differences(i))
          contribution.add(rows(i), except = -1)
          if (isAtRoot && touchedAtRoot != null) touchedAtRoot.note(rows(i))
        }
        i += 1
      }
      rows.clear()
    }

    /** Takes over the keys of child `c` that have no results any more. */
    private def loseKeys(c: Int): Unit = {
      val child = node.child(c)
      var i = 0
      while (i < child.annotation.touched) {
        val key = child.annotation.key(i)
        if (child.annotation.signAfter(i) == 0) {
          // a key that had no results before changes nothing above
          val hadResults = !child.annotation.isEmpty(key)
          val _ = child.annotation.applyChange(i, delta, keeps) // delta: what contributeAll passes on
          if (hadResults) contributeAll(c, key, alive = false)
        }
        i += 1
      }
    }

    /** Takes over the other changed keys of child `c`. */
    private def changeKeys(c: Int): Unit = {
      val child = node.child(c)
      var i = 0
      while (i < child.annotation.touched) {
        // the keys without results are taken over already: their change is below 0 once more
        if (child.annotation.signAfter(i) > 0) {
          val _ = child.annotation.applyChange(i, delta, keeps)
          contributeAll(c, child.annotation.key(i), alive = true)
        }
        i += 1
      }
      if (!keeps) child.annotation.clear()
    }

    /** Adds the contributions that follow from `delta`, the change of a child's key: of the tuples
      * under it that are alive now, or not.
      */
    private def contributeAll(c: Int, key: Int, alive: Boolean): Unit =
      if (!Annotation.isZero(delta)) {
        val lists = node.idx(c)
        if (lists == null) contribute(c, key)
        else {
          val list =
            if (!node.isSplit) key else if (alive) ViewNode.aliveList(key) else ViewNode.otherList(key)
          var slot = lists.first(list)
          while (slot != 0) {
            contribute(c, lists.tuple(slot))
            slot = lists.next(slot)
          }
        }
      }

    /** Adds the contribution of a tuple that follows from `delta`, the change of its key at child `c`.
      * There is none if one of its keys towards the other children has no results.
      */
    private def contribute(c: Int, tuple: Int): Unit = if (contribution.isSupported(tuple, c)) {
      Words.copy(delta, 0, contribution.product, 0, delta.length)
      node match {
        case r: RelationViews => ring.scale(contribution.product, r.weight(tuple))
        case _ =>
      }
      contribution.add(tuple, c)
      if (isAtRoot && touchedAtRoot != null) touchedAtRoot.note(tuple)
    }
  }
}
