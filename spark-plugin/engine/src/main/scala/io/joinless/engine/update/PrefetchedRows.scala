package io.joinless.engine.update

import io.joinless.engine.tuples.{KeyedLists, NotedKeys, TupleKeys}
import io.joinless.engine.view.{RelationViews, RowStore, ViewTree}

/** A prefetch group: a few rows that are about to be inserted into a tree together, so that the
  * memory reads of several rows overlap. The address of a row's key depends on earlier reads of
  * that row, but not on those of other rows. A single row waits for one read after the other.
  *
  * {{{
  * rows.add(roles, row) // which lies in the arena of its input; until `isFull`
  * rows.ready()
  * for (i <- 0 until rows.size) insert(rows.roles(i), rows.row(i))
  * rows.clear() // `drain` is these three, with a call of `insert` for each role
  * }}}
  * `ready` makes several passes over the group for each set of join columns: over the slots of
  * keys; over the keys, which are thereby memoized (`tuples.TupleKeys`); and over the head of each
  * list with such keys. Nothing else changes: all views are the same whether rows are inserted in
  * groups or one by one. A row of the group that is not inserted after all must be freed.
  *
  * If there are few keys, their data is cached. Prefetching would then cost more than it saves, and
  * is skipped.
  *
  * @param near the number of keys from which on rows are prefetched
  */
final class PrefetchedRows private (store: RowStore, joined: Array[PrefetchedRows.Joined], near: Int) {
  import PrefetchedRows._

  def this(tree: ViewTree) = this(tree, PrefetchedRows.joinedColumns(tree), PrefetchedRows.Near)
  private[engine] def this(tree: ViewTree, near: Int) = this(tree, PrefetchedRows.joinedColumns(tree), near)

  private[this] val rows = new Array[Int](Size)
  private[this] val roleSets = new Array[Long](Size)
  private[this] var count = 0

  // of the current join columns: the rows that join on them
  private[this] val chosen = new Array[Int](Size)
  private[this] val hashes = new Array[Int](Size)
  private[this] val keys = new Array[Int](Size)
  // the sum of prefetched words, so that the reads are not optimized away
  private[this] var read = 0L

  def size: Int = count
  def isEmpty: Boolean = count == 0
  def isFull: Boolean = count == Size

  /** The id of the i-th row, in the arena of its input. */
  def row(i: Int): Int = rows(i)

  /** The relations (bit set), all of one input, into which the row is inserted. */
  def roles(i: Int): Long = roleSets(i)

  /** Adds a row, to be inserted into the relations `roles` (bit set). The group must not be full.
    */
  def add(roles: Long, row: Int): Unit = {
    rows(count) = row
    roleSets(count) = roles
    count += 1
  }

  def clear(): Unit = count = 0

  /** Prefetches the rows, calls `insert(relation, row)` once for each role of each row, and leaves
    * the group empty.
    */
  def drain(insert: (Int, Int) => Unit): Unit = {
    ready()
    var i = 0
    while (i < count) {
      var rolesLeft = roleSets(i)
      while (rolesLeft != 0L) {
        insert(java.lang.Long.numberOfTrailingZeros(rolesLeft), rows(i))
        rolesLeft &= rolesLeft - 1
      }
      i += 1
    }
    clear()
  }

  /** Frees the rows from position `from` on, of append-only inputs, which were inserted into no
    * relation, and removes them from the group.
    */
  def free(from: Int): Unit = while (count > from) {
    count -= 1
    DeletedRows.free(store, store.block.inputOf(roleSets(count)), rows(count))
  }

  /** Looks up the keys of the rows, and prefetches the list heads of these. */
  def ready(): Unit = if (count > 1) {
    var j = 0
    while (j < joined.length) {
      if (joined(j).keys.limit > near) {
        val n = choose(joined(j))
        lookUp(joined(j).keys, n)
        readHeads(joined(j), n)
      }
      j += 1
    }
  }

  /** Selects the rows that join on the columns; returns how many. */
  private def choose(columns: Joined): Int = {
    var n = 0
    var i = 0
    while (i < count) {
      if ((roleSets(i) & columns.roles) != 0L) {
        chosen(n) = rows(i)
        n += 1
      }
      i += 1
    }
    n
  }

  /** Looks up the keys of the `n` chosen rows in three passes, each of which needs what the one
    * before has read: hashes, the slots of likely keys, keys. The keys are memoized.
    */
  private def lookUp(joinKeys: TupleKeys, n: Int): Unit = {
    var seen = 0L
    var i = 0
    while (i < n) { hashes(i) = joinKeys.hash(chosen(i)); i += 1 }
    i = 0
    while (i < n) { seen += joinKeys.likely(hashes(i)); i += 1 }
    i = 0
    while (i < n) { keys(i) = joinKeys.findOrAdd(chosen(i), chosen(i)); i += 1 }
    read += seen
  }

  /** Reads the heads of all lists under the keys that `lookUp` found. */
  private def readHeads(columns: Joined, n: Int): Unit = {
    var seen = 0L
    var l = 0
    while (l < columns.lists.length) {
      val lists = columns.lists(l)
      var i = 0
      while (i < n) { seen += lists.count(keys(i)); i += 1 }
      l += 1
    }
    read += seen
  }
}

object PrefetchedRows {

  /** The maximum number of rows of a group. */
  final val Size = 32

  /** The data of so many keys is cached. */
  final private val Near = 8192

  /** The keys of an input's rows on some of their columns, the relations (bit set) that join on
    * these, and the lists with such keys.
    */
  final private class Joined(val keys: TupleKeys, val roles: Long, val lists: Array[KeyedLists])

  /** A group of rows that are not prefetched. */
  private[engine] def unread(store: RowStore): PrefetchedRows = new PrefetchedRows(store, Array.empty[Joined], Near)

  /** One set of join columns for each array of memoized keys of an input's rows, with the relations
    * that read their key to the parent or to a child from it.
    */
  private def joinedColumns(tree: ViewTree): Array[Joined] =
    for {
      input <- tree.block.inputs.indices.toArray
      keys <- tree.keysOfRows(input)
    } yield {
      val nodes = tree.block.relationsOf(input).map(tree.relation(_)).filter { node =>
        (node.upKeys eq keys.noted) || node.down.exists(_ eq keys.noted)
      }
      new Joined(keys, nodes.foldLeft(0L)(_ | _.relations), nodes.flatMap(lists(_, keys.noted)).distinct)
    }

  /** The lists under these keys: those of the node, of its parent and of its children. Results of a
    * `ViewTree` are enumerated, so every node has V_s and live views. Only a generalized parent has
    * no lists towards its children (null): there a tuple is itself the key.
    */
  private def lists(node: RelationViews, keys: NotedKeys): Seq[KeyedLists] = {
    val parent = node.parent
    val above =
      if (node.isRoot || (node.upKeys ne keys)) Nil
      else Seq(node.vs, parent.live(node.position), parent.idx(node.position)).filter(_ != null)
    val below = (0 until node.childCount).filter(c => node.down(c) eq keys)
    above ++ below.flatMap(c => Seq(node.child(c).vs, node.live(c), node.idx(c)))
  }
}
