package io.joinless.engine.update

import io.joinless.engine.tuples.{KeyedLists, NotedKeys, TupleKeys}
import io.joinless.engine.view.{RelationNode, RowStore, ViewTree}

/** Rows that are about to come to a tree, a few at a time, so that the reads of several rows from memory overlap: where a row's key lies
  * depends on what was read before of that row, what the next row needs does not. A row by itself waits for one read after the other.
  *
  * {{{
  * rows.add(roles, row)                        // which lies in the arena of its input; until `isFull`
  * rows.ready()
  * for (i <- 0 until rows.size) insert(rows.roles(i), rows.row(i))
  * rows.clear()                                // `drain` is these three
  * }}}
  * `ready` goes through the group several times for the columns that rows join on: for the slots of keys, for the keys, which are noted with that
  * (`tuples.TupleKeys`), and for the head of each list that has such keys. Nothing else changes: whether rows come in groups or one
  * by one is the same to all views. A row of the group that is not inserted after all is to be freed.
  *
  * Caches hold what belongs to few keys; there reading ahead costs more than it saves, and is left out.
  *
  * @param near reading ahead begins with more keys than this
  */
final class RowGroup private (store: RowStore, joined: Array[RowGroup.Joined], near: Int) {
  import RowGroup._

  def this(tree: ViewTree) = this(tree, RowGroup.joinedColumns(tree), RowGroup.Near)
  private[engine] def this(tree: ViewTree, near: Int) = this(tree, RowGroup.joinedColumns(tree), near)

  private[this] val rows = new Array[Int](Size)
  private[this] val sets = new Array[Long](Size)
  private[this] var count = 0

  // of the columns at hand: the rows that join on them
  private[this] val chosen = new Array[Int](Size)
  private[this] val hashes = new Array[Int](Size)
  private[this] val keys = new Array[Int](Size)
  private[this] var read = 0L // of what was read ahead, so that it is not left out

  def size: Int = count
  def isEmpty: Boolean = count == 0
  def isFull: Boolean = count == Size
  def row(i: Int): Int = rows(i)

  /** The relations (bit set), all of one input, that the row comes to. */
  def roles(i: Int): Long = sets(i)

  def add(roles: Long, row: Int): Unit = {
    rows(count) = row
    sets(count) = roles
    count += 1
  }

  def clear(): Unit = count = 0

  /** Makes the rows ready, hands out each with its relations, one after the other, and leaves the group empty. */
  def drain(insert: (Int, Int) => Unit): Unit = {
    ready()
    var i = 0
    while (i < count) {
      var left = sets(i)
      while (left != 0L) {
        insert(java.lang.Long.numberOfTrailingZeros(left), rows(i))
        left &= left - 1
      }
      i += 1
    }
    clear()
  }

  /** Frees the rows from place `from` on, of append-only inputs, which no relation got; they leave the group. */
  def free(from: Int): Unit = while (count > from) {
    count -= 1
    GoneRows.free(store, store.block.inputOf(sets(count)), rows(count))
  }

  /** Looks up the keys of the rows, and reads what lies at them. */
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

  /** Chooses the rows that join on the columns; returns how many. */
  private def choose(columns: Joined): Int = {
    var n = 0
    var i = 0
    while (i < count) {
      if ((sets(i) & columns.roles) != 0L) {
        chosen(n) = rows(i)
        n += 1
      }
      i += 1
    }
    n
  }

  private def lookUp(of: TupleKeys, n: Int): Unit = {
    var seen = 0L
    var i = 0
    while (i < n) { hashes(i) = of.hash(chosen(i)); i += 1 }
    i = 0
    while (i < n) { seen += of.likely(hashes(i)); i += 1 }
    i = 0
    while (i < n) { keys(i) = of.findOrAdd(chosen(i), chosen(i)); i += 1 }
    read += seen
  }

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

object RowGroup {

  /** Rows of a group at most. */
  final val Size = 32

  /** What belongs to so many keys is in caches. */
  final private val Near = 8192

  /** The keys of an input's rows on some of their columns, the relations (bit set) that join on these, and the lists that have such keys. */
  final private class Joined(val keys: TupleKeys, val roles: Long, val lists: Array[KeyedLists])

  /** A group of rows of which nothing is read ahead. */
  private[engine] def unread(store: RowStore): RowGroup = new RowGroup(store, Array.empty[Joined], Near)

  private def joinedColumns(tree: ViewTree): Array[Joined] =
    for {
      input <- tree.block.inputs.indices.toArray
      keys <- tree.keysOfRows(input)
    } yield {
      val nodes = tree.block.relationsOf(input).map(tree.relation(_)).filter { n =>
        (n.upKeys eq keys.noted) || n.down.exists(_ eq keys.noted)
      }
      new Joined(keys, nodes.foldLeft(0L)(_ | _.relations), nodes.flatMap(lists(_, keys.noted)).distinct)
    }

  /** The lists of a node, and of those beside it, that have these keys. */
  private def lists(node: RelationNode, keys: NotedKeys): Seq[KeyedLists] = {
    val parent = node.parent
    val above =
      if (node.isRoot || (node.upKeys ne keys)) Nil
      else Seq(node.vs, parent.live(node.position), parent.idx(node.position)).filter(_ != null)
    val below = (0 until node.childCount).filter(c => node.down(c) eq keys)
    above ++ below.flatMap(c => Seq(node.child(c).vs, node.live(c), node.idx(c)))
  }
}
