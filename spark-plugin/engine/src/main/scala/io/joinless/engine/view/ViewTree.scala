package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query
import io.joinless.engine.tuples.{IntLists, KeyField, KeyIndex, KeyReader, PagedInts, TupleArena}

/** Semi-join and projection views of a join block, linear in its rows; never a join result (algorithms A11 to A15).
  *
  * Rows lie once in the arena of their input; each relation (role) has a [[RelationNode]] of lists over row ids, each
  * generalized node of the join tree a [[GeneralizedNode]] over its keys. `link` and `unlink` put a row into the indexes of
  * its node and take it out; [[Propagation]] keeps V_s and the counts, [[Liveness]] the live views. Space: for each row
  * and role, a constant number of ints per incident edge of the tree (architecture D4).
  *
  * Not thread safe. Node `r < relations` belongs to relation `r`; generalized nodes follow.
  */
final class ViewTree(val block: BlockDef) {
  val counters = new Counters
  private[this] val retractable = block.retractable
  private[this] val arenas: Array[TupleArena] = block.inputs.map(i => new TupleArena(i.fixedWords)).toArray
  private[this] val identities: Array[KeyIndex] = block.inputs.indices.map { i =>
    if (block.inputs(i).retractable) new KeyIndex(arenas(i), block.inputs(i).fixedWords, counted = true) else null
  }.toArray
  private[this] val built = new ViewTreeBuilder(block, arenas)

  /** All nodes: the relations' in their order, then the generalized ones. */
  private[engine] val nodes: Array[ViewNode] = built.nodes
  private[engine] val root: ViewNode = built.root

  private[engine] def relation(r: Int): RelationNode = nodes(r).asInstanceOf[RelationNode]

  /** How many rows, over all relations, are there more than once. While there are none, results need no products. */
  private[engine] var plural: Long = 0L

  def arena(input: Int): TupleArena = arenas(input)

  /** How often a row of a retractable input is there for a relation. Where deletes may come before their inserts it can be
    * negative: the row is owed, and absent.
    */
  def count(relation: Int, row: Int): Long = this.relation(relation).multiplicity(row)

  /** Id of the row of a retractable input with this content, −1 where there is none. */
  def find(input: Int, words: Array[Long], count: Int): Int = identities(input).find(words, count)

  /** Id of the row's key towards the parent of `node`, −1 where no row there or here has it. The root has no such keys. */
  private[engine] def keyAbove(node: RelationNode, row: Int): Int = node.upReaders(0).find(node.up, row)

  /** Row → row id of a retractable input; null for one that is only appended to. */
  private[engine] def identity(input: Int): KeyIndex = identities(input)

  /** Puts a row, which lies in the arena, into the indexes of `node`; sets its count. */
  private[view] def link(node: RelationNode, row: Int): Unit = {
    var alive = 0
    var c = 0
    while (c < node.childCount) {
      val child = node.child(c)
      val key = node.downReaders(c).findOrAdd(child.up, row)
      child.up.retain(key)
      node.down(c)(row) = key
      node.idx(c).push(key, row)
      if (!child.vs.isEmpty(key)) alive += 1
      c += 1
    }
    if (node.childCount > 0) node.state(row) = alive
    if (!node.isRoot) linkUp(node, row, node.upReaders, 0, row)
  }

  /** Gives `tuple` of `node` its key above; a key that is new there is itself a tuple of the generalized parent. */
  @scala.annotation.tailrec
  private def linkUp(node: ViewNode, tuple: Int, readers: Array[KeyReader], level: Int, row: Int): Unit = {
    val before = node.up.size
    val key = readers(level).findOrAdd(node.up, row)
    node.up.retain(key)
    node.upKeys(tuple) = key
    node.parent match {
      case g: GeneralizedNode if node.up.size > before && !g.isRoot => linkUp(g, key, readers, level + 1, row)
      case _ =>
    }
  }

  /** Takes a row that is no longer alive in `node` out of its indexes; keys nobody refers to any more go. */
  private[view] def unlink(node: RelationNode, row: Int): Unit = {
    var c = 0
    while (c < node.childCount) {
      val key = node.down(c)(row)
      node.idx(c).remove(key, row)
      node.down(c)(row) = 0
      val _ = node.child(c).up.release(key)
      c += 1
    }
    node.state(row) = 0
    if (!node.isRoot) unlinkUp(node, row)
  }

  @scala.annotation.tailrec
  private def unlinkUp(node: ViewNode, tuple: Int): Unit = {
    val key = node.upKeys(tuple)
    node.upKeys(tuple) = 0
    val last = node.up.release(key)
    node.parent match {
      case g: GeneralizedNode if last && !g.isRoot => unlinkUp(g, key)
      case _ =>
    }
  }

  /** The tuple of a generalized node on which given rows (ids per relation) meet, −1 where there is none. */
  private[engine] def keyOf(node: GeneralizedNode, rows: Array[Int]): Int = {
    @scala.annotation.tailrec
    def find(n: ViewNode, level: Int): Int = n.child(0) match {
      case r: RelationNode => r.upReaders(level).find(node.domain, rows(r.id))
      case g: GeneralizedNode => find(g, level + 1)
    }
    find(node, 0)
  }

  /** Rows stored, over all inputs. */
  def rows: Long = arenas.iterator.map(_.live.toLong).sum

  /** Distinct keys, over all edges. */
  def keys: Long = built.indexes.iterator.map(_.size.toLong).sum

  /** Alive tuples of nodes that have children and are part of a result. */
  def liveTuples: Long = counters.marked

  /** Heap held by rows and views. */
  def bytes: Long =
    arenas.iterator.map(_.bytes).sum + identities.iterator.filter(_ != null).map(_.bytes).sum +
      built.keyArenas.iterator.map(_.bytes).sum + built.indexes.iterator.map(_.bytes).sum + nodes.iterator.map(_.bytes).sum

  /** Nothing is stored, and no view refers to anything. */
  def isEmpty: Boolean = rows == 0 && (!retractable || keys == 0) && counters.alive == 0 && counters.marked == 0
}

/** Lays out nodes, edges and key readers of a [[ViewTree]]. */
final private class ViewTreeBuilder(block: BlockDef, arenas: Array[TupleArena]) {
  private[this] val removable = block.retractable
  val keyArenas = new scala.collection.mutable.ArrayBuffer[TupleArena]
  val indexes = new scala.collection.mutable.ArrayBuffer[KeyIndex]
  private[this] val all = new Array[ViewNode](block.tree.preorder.size)
  private[this] var nextGeneralized = block.relations.size

  val root: ViewNode = build(block.tree)

  def nodes: Array[ViewNode] = all

  private def build(tree: query.JoinTree): ViewNode = {
    val node = tree match {
      case query.RelationNode(r, _, _) =>
        val input = block.relations(r).input
        new RelationNode(r, input, arenas(input), removable, block.inputs(input).retractable)
      case query.GeneralizedNode(attributes, _) =>
        nextGeneralized += 1
        new GeneralizedNode(nextGeneralized - 1, index(attributes), removable)
    }
    all(node.id) = node
    node.childNodes = tree.children.map(build).toArray
    for ((child, i) <- node.childNodes.zipWithIndex) {
      child.parentNode = node
      child.place = i
      val separator = tree.children(i).attributes & tree.attributes
      node match {
        case g: GeneralizedNode =>
          require(separator == tree.attributes, s"the attributes of a generalized node are in each child")
          child.up = g.domain
        case _: RelationNode =>
          require(child.isInstanceOf[RelationNode], "a generalized node is the root or below a generalized node")
          child.up = index(separator)
      }
    }
    node match {
      case r: RelationNode =>
        r.down = Array.fill(r.childCount)(new PagedInts)
        r.idx = Array.fill(r.childCount)(new IntLists(removable))
        r.live = Array.fill(r.childCount)(new IntLists(removable))
        r.downReaders = tree.children.map(c => reader(r.id, c.attributes & tree.attributes)).toArray
        // the path of generalized nodes above is read from the row, too
        for (c <- r.childNodes) c.asInstanceOf[RelationNode].upReaders = Array(reader(c.id, separatorOf(tree, c.place)))
      case g: GeneralizedNode => addUpReaders(g, tree)
    }
    node
  }

  private def separatorOf(tree: query.JoinTree, child: Int): BitSet = tree.children(child).attributes & tree.attributes

  /** Relations whose path to `node` has generalized nodes only read this node's key from their rows. */
  private def addUpReaders(node: ViewNode, tree: query.JoinTree): Unit =
    for (c <- node.childNodes) c match {
      case r: RelationNode => r.upReaders :+= reader(r.id, tree.attributes)
      case g: GeneralizedNode => addUpReaders(g, tree)
    }

  private def reader(relation: Int, attributes: BitSet): KeyReader = {
    val definition = block.relations(relation)
    val fields = attributes.toArray.map(a => field(relation, a))
    new KeyReader(
      arenas(definition.input),
      block.inputs(definition.input).fields,
      fields,
      attributes.toArray.map(block.attributes(_).nullSafe)
    )
  }

  private def index(attributes: BitSet): KeyIndex = {
    val variable = attributes.toArray.map { a =>
      block.relations.indices.flatMap(r => block.relations(r).keys.collect { case (`a`, f) => f.variable }).head
    }
    val words = KeyReader.keyWords(variable, attributes.toArray.map(block.attributes(_).nullSafe))
    val arena = new TupleArena(words)
    val index = new KeyIndex(arena, words, counted = removable)
    keyArenas += arena
    indexes += index
    index
  }

  private def field(relation: Int, attribute: Int): KeyField =
    block.relations(relation).keys.collectFirst { case (`attribute`, f) => f }
      .getOrElse(throw new IllegalArgumentException(s"relation $relation has no attribute $attribute"))
}
