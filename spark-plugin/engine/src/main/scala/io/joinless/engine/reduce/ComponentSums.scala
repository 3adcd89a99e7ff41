package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{IntStack, PagedLongs, Words}
import io.joinless.engine.update.{Contribution, Links}
import io.joinless.engine.view.{Annotation, Counters, GeneralizedViews, RelationViews, ViewNode}

/** Applies a batch to the nodes of a component, whose results are counted and not enumerated: rows,
  * support and annotations in one pass from the leaves to the root, each touched key once
  * (algorithms A47). At the root the changes are left pending; they are those of the component's
  * projected rows.
  *
  * A node first takes over the changes of its children, child after child, then those of its own
  * rows. Each state in between is that of a legal database. Since a row is linked after the keys
  * below it have changed, it contributes once; so the order is another one than that of
  * `update.TreeAnnotations`, where views have changed before.
  *
  * Cost: one step (`counters.steps`) per tuple whose element or support changes.
  */
final private[reduce] class ComponentSums(nodes: Array[ViewNode], ring: Ring, counters: Counters) {
  private[this] val sums: Array[NodeSums] = nodes.map {
    case node: RelationViews => new RelationSums(node, ring, counters)
    case node: GeneralizedViews => new GeneralizedSums(node, ring, counters)
  }

  /** The sums of each relation. */
  val ofRelations: Map[Int, RelationSums] = sums.collect { case s: RelationSums => s.node.relation -> s }.toMap

  /** The annotation of the projected rows. */
  val root: Annotation = nodes.last.annotation

  /** Propagates the batch's changes, which the relations have ([[RelationSums.change]]). */
  def update(): Unit = {
    var i = 0
    while (i < sums.length) { sums(i).update(); i += 1 }
  }

  /** Heap held between batches, besides that of nodes. */
  def bytes: Long = sums.iterator.map(_.bytes).sum
}

/** The sums of one node: takes over the changes of its children. */
sealed abstract private[reduce] class NodeSums(node: ViewNode, ring: Ring, counters: Counters) {
  final protected val contribution = new Contribution(node, ring, counters)
  final private[this] val delta = new Array[Long](ring.width)
  final private[this] val children: Array[ViewNode] = Array.tabulate(node.childCount)(node.child)

  /** Propagates the batch's changes of the children: each touched key of each child, once. The
    * children must be finished with the batch.
    */
  final def update(): Unit = {
    var c = 0
    while (c < children.length) {
      val below = children(c).annotation
      var i = 0
      while (i < below.touched) {
        val key = below.key(i)
        val before = below.applyChange(i, delta)
        val after = before + delta(0)
        if (children(c).isDistinct) ring.results(delta, Annotation.once(after) - Annotation.once(before))
        if (!Annotation.isZero(delta)) fromChild(c, key, before > 0, after > 0, delta)
        i += 1
      }
      below.clear()
      c += 1
    }
    updateRows()
  }

  /** Propagates the change `delta` of the element of child `c`'s `key`. `before` and `after` say
    * whether the key had, and has, results.
    */
  protected def fromChild(c: Int, key: Int, before: Boolean, after: Boolean, delta: Array[Long]): Unit

  /** Applies the batch's changes of the node's own rows. */
  protected def updateRows(): Unit

  def bytes: Long = 0L
}

/** A tuple is a key on which all children join. */
final private class GeneralizedSums(node: GeneralizedViews, ring: Ring, counters: Counters)
    extends NodeSums(node, ring, counters) {

  /** Passes the change on to the key's tuple, if all other children have results for it. Nothing is
    * stored per tuple.
    */
  override protected def fromChild(c: Int, key: Int, before: Boolean, after: Boolean, delta: Array[Long]): Unit =
    if (contribution.isSupported(key, c)) {
      Words.copy(delta, 0, contribution.product, 0, delta.length)
      contribution.add(key, c)
    }

  override protected def updateRows(): Unit = ()
}

/** A tuple is a row. It is alive if each child has results for its key.
  *
  * With several children the node is split: so a change of the element of a key that keeps its
  * results walks alive rows only.
  */
final private[reduce] class RelationSums(val node: RelationViews, ring: Ring, counters: Counters)
    extends NodeSums(node, ring, counters) {
  private[this] val multiplicity: PagedLongs = node.multiplicity
  private[this] val children = node.childCount
  private[this] val isSplit = node.isSplit

  /** Rows to be moved between lists: collected first, since a list must not change while it is
    * walked.
    */
  private[this] val moving = new IntStack

  // the pending batch: rows, and their counts before and after
  private[this] val changedRows = new IntStack
  private[this] val counts = new PagedLongs

  /** Changes the multiplicity of a row in the batch. A row of a leaf is applied at once, others
    * after their children are up to date.
    */
  def change(row: Int, before: Long, after: Long): Unit =
    if (children == 0) setCount(row, before, after)
    else {
      counts(2 * changedRows.size) = before
      counts(2 * changedRows.size + 1) = after
      changedRows.push(row)
    }

  /** Applies the pending changes of rows, now that all children are up to date. */
  override protected def updateRows(): Unit = {
    var i = 0
    while (i < changedRows.size) {
      setCount(changedRows(i), counts(2 * i), counts(2 * i + 1))
      i += 1
    }
    changedRows.clear()
  }

  /** Changes a row's count, and adds the change of its multiplicity, which is 0 for a negative
    * count, to its key.
    */
  private def setCount(row: Int, countBefore: Long, countAfter: Long): Unit = {
    val before = math.max(countBefore, 0L)
    val after = math.max(countAfter, 0L)
    if (before == 0L && after > 0L) Links.link(node, row)
    if (before != after && isAlive(row)) {
      ring.results(contribution.product, after - before)
      contribution.add(row, except = -1)
    }
    if (before > 0L && after == 0L) Links.unlink(node, row)
    multiplicity(row) = countAfter
  }

  /** Whether each child has results for the row's key. */
  private def isAlive(row: Int): Boolean =
    if (isSplit) node.isAlive(row)
    else children == 0 || node.child(0).annotation.count(node.keyTo(0, row)) > 0L

  /** With a single child, its key's rows are in one list and all contribute. With several:
    * {{{
    * before  after    alive rows                        other rows
    * true    true     contribute                        no change
    * false   true     there are none                    gain support; alive now: contribute
    * true    false    contribute, become not alive      lose support
    * }}}
    * A key without results before and after has no change.
    */
  override protected def fromChild(c: Int, key: Int, before: Boolean, after: Boolean, delta: Array[Long]): Unit =
    if (!isSplit) walk(c, key, delta)
    else if (before && after) walk(c, ViewNode.aliveList(key), delta)
    else if (after) {
      collectMoving(c, ViewNode.otherList(key))
      while (!moving.isEmpty) {
        val row = moving.pop()
        node.state(row) = node.state(row) + 1
        counters.steps += 1
        if (node.isAlive(row)) {
          Links.move(node, row, toAlive = true)
          changeRow(row, c, delta)
        }
      }
    } else {
      collectMoving(c, ViewNode.otherList(key))
      while (!moving.isEmpty) {
        val row = moving.pop()
        node.state(row) = node.state(row) - 1
        counters.steps += 1
      }
      collectMoving(c, ViewNode.aliveList(key))
      while (!moving.isEmpty) {
        val row = moving.pop()
        changeRow(row, c, delta)
        node.state(row) = node.state(row) - 1
        Links.move(node, row, toAlive = false)
      }
    }

  /** Adds the change of all rows of a list of child `c`. */
  private def walk(c: Int, list: Int, delta: Array[Long]): Unit = {
    val lists = node.idx(c)
    var slot = lists.first(list)
    while (slot != 0) {
      changeRow(lists.tuple(slot), c, delta)
      slot = lists.next(slot)
    }
  }

  /** Adds the change of `row` that follows from the change `delta` of its key to child `c`. */
  private def changeRow(row: Int, c: Int, delta: Array[Long]): Unit = {
    Words.copy(delta, 0, contribution.product, 0, delta.length)
    ring.scale(contribution.product, multiplicity(row))
    contribution.add(row, c)
  }

  /** Pushes the rows of a list of child `c` to `moving`. */
  private def collectMoving(c: Int, list: Int): Unit = {
    val lists = node.idx(c)
    var slot = lists.first(list)
    while (slot != 0) {
      moving.push(lists.tuple(slot))
      slot = lists.next(slot)
    }
  }

  override def bytes: Long = counts.bytes + changedRows.bytes + moving.bytes
}
