package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** A join tree: what the view tree is built from.
  *
  * Every node has a set of attributes; `separator(child) = child.attributes ∩ parent.attributes`. For each attribute the
  * nodes that contain it are connected. A [[RelationNode]] stands for one relation of the join block; a
  * [[GeneralizedNode]] stands for no relation: its attributes are contained in each of its children, which meet in it.
  *
  * Height counts relation nodes on a path from a leaf to the root, generalized nodes are free; depth counts relation
  * nodes strictly above (algorithms B.2).
  */
sealed trait JoinTree {
  def attributes: BitSet
  def children: IndexedSeq[JoinTree]

  /** All nodes, parents before children. */
  def preorder: IndexedSeq[JoinTree] = this +: children.flatMap(_.preorder)

  /** The relations below and at this node, in ascending order. */
  def relations: IndexedSeq[Int] = preorder.collect { case RelationNode(r, _, _) => r }.sorted

  def height: Int = this match {
    case _: RelationNode => 1 + below
    case _: GeneralizedNode => below
  }

  private def below: Int = if (children.isEmpty) 0 else children.map(_.height).max
}

final case class RelationNode(relation: Int, attributes: BitSet, children: IndexedSeq[JoinTree]) extends JoinTree

final case class GeneralizedNode(attributes: BitSet, children: IndexedSeq[JoinTree]) extends JoinTree
