package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query
import io.joinless.engine.tuples.{IntLists, PagedInts, TupleArena}

/** Lays out nodes, edges and key readers of a [[ViewTree]]. */
final private class ViewTreeBuilder(block: BlockDef, arenas: Array[TupleArena]) {
  private[this] val removable = block.removable
  val keys = new EdgeKeys(block, arenas)
  private[this] val all = new Array[ViewNode](block.tree.preorder.size)
  private[this] var nextGeneralized = block.relations.size

  val root: ViewNode = build(block.tree)

  def nodes: Array[ViewNode] = all

  /** The node of each relation. */
  def relations: Array[RelationNode] = all.collect { case r: RelationNode => r }.sortBy(_.relation)

  private def build(tree: query.JoinTree): ViewNode = {
    val node = tree match {
      case query.RelationNode(r, _, _) =>
        val input = block.relations(r).input
        new RelationNode(r, r, input, arenas(input), block.inputs(input).counted)
      case query.GeneralizedNode(attributes, _) =>
        nextGeneralized += 1
        new GeneralizedNode(nextGeneralized - 1, keys.index(attributes))
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
          child.up = keys.index(separator)
      }
    }
    node match {
      case r: RelationNode =>
        r.down = Array.fill(r.childCount)(new PagedInts)
        r.idx = Array.fill(r.childCount)(new IntLists(removable))
        r.live = Array.tabulate(r.childCount)(c => new IntLists(removable, onwards(r, c, isRoot = tree eq block.tree)))
        r.downReaders = tree.children.map(c => keys.reader(r.relation, c.attributes & tree.attributes)).toArray
        // the path of generalized nodes above is read from the row, too
        for (c <- r.childNodes.collect { case c: RelationNode => c })
          c.upReaders = Array(keys.reader(c.relation, separatorOf(tree, c.place)))
      case g: GeneralizedNode =>
        g.down = new Array(g.childCount)
        g.idx = new Array(g.childCount)
        g.live = new Array(g.childCount)
        addUpReaders(g, tree)
    }
    node.vs = new IntLists(removable, node.down.headOption.orNull)
    node
  }

  /** Keys by which enumeration goes on from a tuple that it came to from child `c`: to the parent, at the root to another child. */
  private def onwards(node: RelationNode, c: Int, isRoot: Boolean): PagedInts =
    if (!isRoot) node.upKeys
    else node.down.indices.find(_ != c).map(node.down(_)).orNull

  private def separatorOf(tree: query.JoinTree, child: Int): BitSet = tree.children(child).attributes & tree.attributes

  /** Relations whose path to `node` has generalized nodes only read this node's key from their rows. */
  private def addUpReaders(node: ViewNode, tree: query.JoinTree): Unit =
    for (c <- node.childNodes) c match {
      case r: RelationNode => r.upReaders :+= keys.reader(r.relation, tree.attributes)
      case g: GeneralizedNode => addUpReaders(g, tree)
    }
}
