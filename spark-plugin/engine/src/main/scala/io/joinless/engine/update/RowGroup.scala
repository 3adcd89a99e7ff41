package io.joinless.engine.update

import io.joinless.engine.tuples.{IntLists, NotedKeys, RecordLists, TupleKeys}
import io.joinless.engine.view.{RelationNode, ViewNode, ViewTree}

/** Rows that are about to come to a tree, a few at a time, so that the reads of several rows from memory overlap: where a row's key lies
  * depends on what was read before of that row, what the next row needs does not. A row by itself waits for one read after the other.
  *
  * {{{
  * rows.add(roles, row)                        // which lies in the arena of its input; until `isFull`
  * rows.ready()
  * for (i <- 0 until rows.size) insert(rows.roles(i), rows.row(i))
  * rows.clear()
  * }}}
  * `ready` goes through the group several times for the columns that rows join on: for the slots of keys, for the keys, which are noted with that
  * (`tuples.TupleKeys`), and for the head of each list that has such keys. Nothing else changes: whether rows come in groups or one
  * by one is the same to all views. A row of the group that is not inserted after all is freed by [[GoneRows]].
  *
  * Caches hold what belongs to few keys; there reading ahead costs more than it saves, and is left out.
  *
  * @param near reading ahead begins with more keys than this
  */
final class RowGroup private[engine] (tree: ViewTree, near: Int) {
  import RowGroup._

  def this(tree: ViewTree) = this(tree, RowGroup.Near)

  private[this] val joined: Array[Joined] = joinedColumns(tree)
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
    while (l < columns.records.length) {
      val lists = columns.records(l)
      var i = 0
      while (i < n) { seen += lists.count(keys(i)); i += 1 }
      l += 1
    }
    l = 0
    while (l < columns.tuples.length) {
      val lists = columns.tuples(l)
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
  final private class Joined(
      val keys: TupleKeys,
      val roles: Long,
      val records: Array[RecordLists],
      val tuples: Array[IntLists]
  )

  private def joinedColumns(tree: ViewTree): Array[Joined] =
    for {
      input <- tree.block.inputs.indices.toArray
      keys <- tree.keysOfRows(input)
    } yield {
      val nodes = tree.block.relationsOf(input).map(tree.relation(_)).filter { n =>
        (n.upKeys eq keys.noted) || n.down.exists(_ eq keys.noted)
      }
      new Joined(
        keys,
        nodes.foldLeft(0L)(_ | _.relations),
        nodes.flatMap(records(_, keys.noted)).distinct,
        nodes.flatMap(tuples(_, keys.noted)).distinct
      )
    }

  private def records(node: RelationNode, keys: NotedKeys): Seq[RecordLists] =
    above(node, keys)(p => Seq(node.vs, p.live(node.position))) ++
      below(node, keys).flatMap(c => Seq(node.child(c).vs, node.live(c)))

  private def tuples(node: RelationNode, keys: NotedKeys): Seq[IntLists] =
    above(node, keys)(p => Seq(p.idx(node.position))) ++ below(node, keys).map(node.idx(_))

  /** What a node whose keys to its parent these are has there. */
  private def above[A](node: RelationNode, keys: NotedKeys)(lists: ViewNode => Seq[A]): Seq[A] =
    if (node.isRoot || (node.upKeys ne keys)) Nil else lists(node.parent).filter(_ != null)

  /** The children to which a node has these keys. */
  private def below(node: RelationNode, keys: NotedKeys): Seq[Int] =
    (0 until node.childCount).filter(c => node.down(c) eq keys)
}
