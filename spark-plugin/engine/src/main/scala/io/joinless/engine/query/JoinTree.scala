package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** A join tree, from which the view tree is built.
  *
  * Every node has a set of attributes; `separator(child) = child.attributes ∩ parent.attributes`.
  * For each attribute the nodes that contain it are connected. A [[RelationNode]] represents one
  * relation of the join block. A [[GeneralizedNode]] represents no relation: its attributes are
  * contained in each of its children, which join on them. So the separator below a generalized node
  * is the node's own attributes, and its parent, if any, is generalized too. A [[BagNode]] is a
  * whole tree: that of relations whose graph is cyclic.
  *
  * Height counts the relation nodes on a path from a leaf to the root, not the generalized ones;
  * depth counts the relation nodes strictly above (algorithms A3, A4).
  */
sealed trait JoinTree {
  def attributes: BitSet
  def children: IndexedSeq[JoinTree]

  /** The attributes on which a child joins this node. */
  def separator(child: JoinTree): BitSet = child.attributes & attributes

  /** All nodes, parents before children. */
  def preorder: IndexedSeq[JoinTree] = this +: children.flatMap(_.preorder)

  /** All pairs of a parent and a child that joins it by a key; the relations of a bag have none. */
  def edges: IndexedSeq[(JoinTree, JoinTree)] =
    preorder.filterNot(_.isInstanceOf[BagNode]).flatMap(node => node.children.map(node -> _))

  /** The relations at and below this node, in ascending order. */
  def relations: IndexedSeq[Int] = preorder.collect { case RelationNode(r, _, _) => r }.sorted

  def generalizedNodes: Int = preorder.count(_.isInstanceOf[GeneralizedNode])

  /** The most relation nodes on a path from a leaf to this node. */
  def height: Int = {
    val heightBelow = if (children.isEmpty) 0 else children.map(_.height).max
    this match {
      case _: RelationNode => 1 + heightBelow
      case _: GeneralizedNode | _: BagNode => heightBelow
    }
  }

  /** The depth of every relation. */
  def depths: Map[Int, Int] = this match {
    case RelationNode(relation, _, _) =>
      children.flatMap(_.depths).map { case (r, depth) => r -> (depth + 1) }.toMap + (relation -> 0)
    case _: GeneralizedNode | _: BagNode => children.flatMap(_.depths).toMap
  }

  /** Σ depth(e) · sizes(e). */
  def cost(sizes: IndexedSeq[Double]): Double = depths.map { case (r, depth) => depth * sizes(r) }.sum

  /** The tree in one line: `[C]{G2·G1, G3}`, `parent·child` for an only child and
    * `parent{child, child}` for several.
    */
  def notation(relation: Int => String, attribute: Int => String): String = {
    val node = this match {
      case RelationNode(r, _, _) => relation(r)
      case GeneralizedNode(shared, _) => shared.toIndexedSeq.map(attribute).mkString("[", ",", "]")
      case BagNode(all, _) => all.toIndexedSeq.map(attribute).mkString("(", ",", ")")
    }
    val below = children.map(_.notation(relation, attribute))
    if (below.isEmpty) node else if (below.size == 1) s"${node}·${below.head}" else below.mkString(s"$node{", ", ", "}")
  }
}

final case class RelationNode(relation: Int, attributes: BitSet, children: IndexedSeq[JoinTree]) extends JoinTree

final case class GeneralizedNode(attributes: BitSet, children: IndexedSeq[JoinTree]) extends JoinTree

/** All relations of a block, joined by intersection: a decomposition of one bag, with all
  * attributes. No relation is above another, so none has views
  * ([[io.joinless.engine.view.BagIndexes]]).
  */
final case class BagNode(attributes: BitSet, children: IndexedSeq[RelationNode]) extends JoinTree

object BagNode {

  /** The most attributes of a bag: sets of them are bits of a long. */
  val MaxAttributes: Int = 63

  /** The bag of all relations of a graph. */
  def of(graph: Hypergraph): BagNode =
    BagNode(
      graph.attributesOf(graph.relations),
      graph.edges.indices.map(r => RelationNode(r, graph.edges(r), IndexedSeq.empty))
    )
}

object JoinTree {

  /** The reasons why `tree` is not a join tree of `graph`, one sentence each; empty if it is one.
    */
  def violations(tree: JoinTree, graph: Hypergraph): IndexedSeq[String] = {
    val nodes = tree.preorder
    val edges = tree.edges
    val wrongRelations =
      if (tree.relations == graph.edges.indices) IndexedSeq.empty
      else IndexedSeq(s"The tree has the relations ${tree.relations.mkString(", ")}, the query ${graph.size} of them.")
    val wrongAttributes = nodes.collect {
      case RelationNode(r, attributes, _) if !graph.edges.lift(r).contains(attributes) =>
        s"Relation $r has other attributes than in the query."
    }
    val unguarded = edges.collect {
      case (parent: GeneralizedNode, child) if !parent.attributes.subsetOf(child.attributes) =>
        s"A child of the generalized node ${parent.attributes} has the attributes ${child.attributes} only."
    }
    val misplaced = edges.collect { case (RelationNode(r, _, _), child: GeneralizedNode) =>
      s"The generalized node ${child.attributes} is below relation $r."
    }
    val nested = nodes.drop(1).collect { case bag: BagNode => s"The bag ${bag.attributes} is not the whole tree." }
    val idle = nodes.collect {
      case node: GeneralizedNode if node.children.size < 2 => s"Fewer than two children meet in ${node.attributes}."
    }
    // an attribute once for each node that has it below a parent without it: more than once if torn
    val topmost = tree.attributes.toIndexedSeq ++ edges.flatMap { case (parent, child) =>
      (child.attributes &~ parent.attributes).toIndexedSeq
    }
    val torn = topmost.diff(topmost.distinct).distinct.map(x => s"The nodes with attribute $x are not connected.")
    wrongRelations ++ wrongAttributes ++ unguarded ++ misplaced ++ nested ++ idle ++ torn
  }
}
