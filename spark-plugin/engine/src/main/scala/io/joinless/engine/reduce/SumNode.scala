package io.joinless.engine.reduce

import io.joinless.engine.algebra.Ring
import io.joinless.engine.tuples.{
  IntLists,
  IntStack,
  KeyIndex,
  KeyReader,
  PagedBytes,
  PagedInts,
  PagedLongs,
  RowProjection,
  RowReader,
  TupleArena,
  TupleKeys,
  Words
}
import io.joinless.engine.view.Counters

/** A node of a component's tree: the sum of the join of its subtree, per key towards its parent.
  *
  * At the root the keys are the projected rows of the component. A key is kept as long as a tuple
  * has it or the pending batch has touched it.
  *
  * @param distinct the parent counts a key once, however many results are under it
  */
sealed abstract private[reduce] class SumNode(ring: Ring, val distinct: Boolean, counters: Counters) {
  private[reduce] var parent: SumNode = null
  private[reduce] var children: Array[SumNode] = Array.empty

  /** The keys towards the parent. */
  private[reduce] var up: KeyIndex = null

  /** If the keys are projected rows of some component, the keys that the top has memoized for them.
    * They are freed with the rows.
    */
  private[reduce] var keysOfKeys: Array[TupleKeys] = Array.empty

  /** Tuple → its key towards the parent. */
  final private[reduce] val upKeys = new PagedInts

  private[reduce] var sums: KeySums = null

  final protected val product = new Array[Long](ring.width)
  final private[this] val delta = new Array[Long](ring.width)
  final private[this] val freedLater = new IntStack

  /** Propagates the batch's changes of the children: each touched key of each child, once. The
    * children must be finished with the batch.
    */
  final def update(): Unit = {
    var c = 0
    while (c < children.length) {
      val child = children(c)
      var i = 0
      while (i < child.sums.touched) {
        val key = child.sums.key(i)
        val before = child.sums.applyChange(i, delta)
        val after = before + delta(0)
        if (child.distinct) ring.results(delta, SumNode.once(after) - SumNode.once(before))
        if (!SumNode.isZero(delta)) fromChild(c, key, before > 0, after > 0, delta)
        i += 1
      }
      child.sums.clear()
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

  /** Adds the change of `tuple` to its key `key`: `product` times the elements of all children
    * except `c` (−1: of all). `product` is overwritten.
    */
  final protected def contribute(tuple: Int, key: Int, c: Int): Unit = {
    var other = 0
    while (other < children.length) {
      if (other != c && !children(other).distinct) {
        val keyBelow = keyTo(other, tuple)
        ring.multiply(product, children(other).sums.page(keyBelow), children(other).sums.at(keyBelow))
      }
      other += 1
    }
    counters.steps += 1
    if (!SumNode.isZero(product)) sums.add(key, product)
  }

  /** The key of `tuple` on which it joins child `c`. */
  protected def keyTo(c: Int, tuple: Int): Int

  /** Releases a tuple's reference to its key. Freeing an unreferenced key is deferred to the end of
    * the batch, which may have touched it.
    */
  final def release(key: Int): Unit = if (up.freeLater(key)) freedLater.push(key)

  /** Ends the batch: frees the keys without a reference. A freed key that was a tuple of a
    * generalized node also releases that tuple's reference to its own key. So it is called for
    * children before their parent.
    */
  final def deferredFree(): Unit = while (!freedLater.isEmpty) {
    val key = freedLater.pop()
    if (up.deferredFree(key)) {
      TupleKeys.forget(keysOfKeys, key)
      parent match {
        case above: KeyNode if !above.isProjected =>
          val keyAbove = above.upKeys(key)
          above.upKeys(key) = 0
          above.release(keyAbove)
        case _ =>
      }
    }
  }

  def bytes: Long = upKeys.bytes + sums.bytes + freedLater.bytes
}

private[reduce] object SumNode {

  /** The multiplicity of a key that counts once, however many results are under it. */
  def once(results: Long): Long = if (results > 0L) 1L else 0L

  def isZero(element: Array[Long]): Boolean = {
    var i = 0
    while (i < element.length) { if (element(i) != 0L) return false; i += 1 }
    true
  }
}

/** A generalized node: a tuple is a key on which all its children join. It has no rows of its own.
  *
  * @param isProjected the tuples are the component's projected rows: each is its own key, and
  *     `domain` is `up`
  */
final private[reduce] class KeyNode(
    ring: Ring,
    distinct: Boolean,
    counters: Counters,
    val domain: KeyIndex,
    val isProjected: Boolean
) extends SumNode(ring, distinct, counters) {

  override protected def keyTo(c: Int, tuple: Int): Int = tuple

  override protected def fromChild(c: Int, key: Int, before: Boolean, after: Boolean, delta: Array[Long]): Unit =
    if (othersSupport(c, key)) {
      Words.copy(delta, 0, product, 0, delta.length)
      contribute(key, if (isProjected) key else upKeys(key), c)
    }

  private def othersSupport(c: Int, key: Int): Boolean = {
    var i = 0
    while (i < children.length) { if (i != c && children(i).sums.count(key) == 0L) return false; i += 1 }
    true
  }

  override protected def updateRows(): Unit = ()
}

/** A relation: a tuple is a row. It is alive if each child has results for its key.
  *
  * With several children, the rows under a child's key are in two lists, alive ones and others. So
  * a change of the element of a key that keeps its results walks alive rows only.
  */
final private[reduce] class RelationNode(
    val relation: Int,
    val arena: TupleArena,
    ring: Ring,
    distinct: Boolean,
    counters: Counters,
    lift: Option[Lift]
) extends SumNode(ring, distinct, counters) {

  /** The multiplicity of each row. A row with a negative multiplicity (deleted before its insert)
    * is in no list.
    */
  val multiplicity = new PagedLongs

  private[reduce] var down: Array[PagedInts] = Array.empty
  private[reduce] var lists: Array[IntLists] = Array.empty
  private[reduce] var downReaders: Array[RowReader] = Array.empty

  /** A row is its own key towards the parent ([[WholeRows]]). */
  private[reduce] var isKey = false

  /** Readers of the key to the parent and, above a generalized parent, of that parent's key to its
    * own parent, and so on.
    */
  private[reduce] var upReaders: Array[KeyReader] = Array.empty

  /** If only generalized nodes are above, the projection of a row to the component's columns. If
    * these are the root's tuples, it is the last key.
    */
  private[reduce] var projection: RowProjection = null

  private[this] val lifted: Lift = lift.orNull // read once per step

  /** With several children: row → the number of its children with results for its key. */
  private[this] val support = new PagedBytes

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
    if (children.length == 0) setCount(row, before, after)
    else {
      counts(2 * changedRows.size) = before
      counts(2 * changedRows.size + 1) = after
      changedRows.push(row)
    }

  override protected def keyTo(c: Int, row: Int): Int = down(c)(row)

  override protected def updateRows(): Unit = {
    var i = 0
    while (i < changedRows.size) {
      setCount(changedRows(i), counts(2 * i), counts(2 * i + 1))
      i += 1
    }
    changedRows.clear()
  }

  /** Changes a row's count, and adds the change of its multiplicity, which is 0 for a negative
    * count, to its key. The row is linked before its first contribution and unlinked after its last
    * one, since `contributeRow` reads its keys.
    */
  private def setCount(row: Int, countBefore: Long, countAfter: Long): Unit = {
    val before = math.max(countBefore, 0L)
    val after = math.max(countAfter, 0L)
    if (before == 0L && after > 0L) link(row)
    if (before != after && isAlive(row)) {
      ring.results(product, after - before)
      contributeRow(row, -1)
    }
    if (before > 0L && after == 0L) unlink(row)
    multiplicity(row) = countAfter
  }

  private def several: Boolean = children.length > 1

  /** As `contribute`, for a row: `product` is first multiplied by the row's own factors. */
  private def contributeRow(row: Int, c: Int): Unit = {
    if (lifted != null) lifted.multiply(product, arena, row)
    contribute(row, if (isKey) row else upKeys(row), c)
  }

  private def isAlive(row: Int): Boolean =
    if (several) support(row) == children.length
    else children.length == 0 || children(0).sums.count(down(0)(row)) > 0L

  /** With a single child, its key's rows are in one list and all contribute. With several:
    * {{{
    * before  after    alive rows: list 2 · key + 1      other rows: list 2 · key
    * true    true     contribute                        no change
    * false   true     there are none                    gain support; alive now: contribute
    * true    false    contribute, become not alive      lose support
    * }}}
    * A key without results before and after has no change.
    */
  override protected def fromChild(c: Int, key: Int, before: Boolean, after: Boolean, delta: Array[Long]): Unit =
    if (!several) walk(c, key, delta)
    else if (before && after) walk(c, 2 * key + 1, delta)
    else if (after) {
      collectMoving(c, 2 * key)
      while (!moving.isEmpty) {
        val row = moving.pop()
        support(row) = support(row) + 1
        counters.steps += 1
        if (support(row) == children.length) {
          move(row, from = 0, to = 1)
          changeRow(row, c, delta)
        }
      }
    } else {
      collectMoving(c, 2 * key)
      while (!moving.isEmpty) {
        val row = moving.pop()
        support(row) = support(row) - 1
        counters.steps += 1
      }
      collectMoving(c, 2 * key + 1)
      while (!moving.isEmpty) {
        val row = moving.pop()
        changeRow(row, c, delta)
        support(row) = support(row) - 1
        move(row, from = 1, to = 0)
      }
    }

  /** Adds the change of all rows of a list of child `c`. */
  private def walk(c: Int, list: Int, delta: Array[Long]): Unit = {
    var slot = lists(c).first(list)
    while (slot != 0) {
      changeRow(lists(c).tuple(slot), c, delta)
      slot = lists(c).next(slot)
    }
  }

  /** Adds the change of `row` that follows from the change `delta` of its key to child `c`. */
  private def changeRow(row: Int, c: Int, delta: Array[Long]): Unit = {
    Words.copy(delta, 0, product, 0, delta.length)
    ring.scale(product, multiplicity(row))
    contributeRow(row, c)
  }

  /** Pushes the rows of a list of child `c` to `moving`. */
  private def collectMoving(c: Int, list: Int): Unit = {
    var slot = lists(c).first(list)
    while (slot != 0) {
      moving.push(lists(c).tuple(slot))
      slot = lists(c).next(slot)
    }
  }

  /** Moves a row between the lists of others (0) and of alive rows (1), for each child. */
  private def move(row: Int, from: Int, to: Int): Unit = {
    var c = 0
    while (c < children.length) {
      lists(c).remove(2 * down(c)(row) + from, row)
      lists(c).push(2 * down(c)(row) + to, row)
      c += 1
    }
  }

  /** The list of child `c` in which the row is. */
  private def listOf(c: Int, row: Int): Int =
    if (!several) down(c)(row) else 2 * down(c)(row) + (if (support(row) == children.length) 1 else 0)

  /** Adds a row to the lists of its keys to the children, with a reference to each key, and
    * assigns its key to the parent.
    */
  private def link(row: Int): Unit = {
    var supported = 0
    var c = 0
    while (c < children.length) {
      val key = downReaders(c).findOrAdd(children(c).up, row)
      children(c).up.retain(key)
      down(c)(row) = key
      if (!several) lists(c).push(key, row)
      else if (children(c).sums.count(key) > 0L) supported += 1
      c += 1
    }
    if (several) {
      support(row) = supported
      c = 0
      while (c < children.length) { lists(c).push(listOf(c, row), row); c += 1 }
    }
    if (!isKey) linkUp(this, row, 0, row)
  }

  /** Assigns `tuple` of `node`, which is `level` edges above the row's relation, its key above. A
    * new key is itself a new tuple of the generalized parent.
    */
  @scala.annotation.tailrec
  private def linkUp(node: SumNode, tuple: Int, level: Int, row: Int): Unit = {
    val before = node.up.size
    val key =
      if (level < upReaders.length) upReaders(level).findOrAdd(node.up, row) else projection.findOrAdd(node.up, row)
    node.up.retain(key)
    node.upKeys(tuple) = key
    if (node.up.size > before) node.parent match {
      case above: KeyNode if !above.isProjected => linkUp(above, key, level + 1, row)
      case _ =>
    }
  }

  /** The reverse of `link`. The lists come first, since `listOf` reads the keys and the support. */
  private def unlink(row: Int): Unit = {
    var c = 0
    while (c < children.length) { lists(c).remove(listOf(c, row), row); c += 1 }
    c = 0
    while (c < children.length) {
      val key = down(c)(row)
      down(c)(row) = 0
      children(c).release(key)
      c += 1
    }
    support(row) = 0
    if (!isKey) {
      val key = upKeys(row)
      upKeys(row) = 0
      release(key)
    }
  }

  override def bytes: Long =
    super.bytes + multiplicity.bytes + support.bytes + counts.bytes + changedRows.bytes + moving.bytes +
      down.iterator.map(_.bytes).sum + lists.iterator.map(_.bytes).sum
}
