package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.query
import io.joinless.engine.tuples.{IntLists, KeyIndex, PagedInts, RowProjection, TupleArena}
import io.joinless.engine.view.{Counters, EdgeKeys}

/** Lays out the nodes of a [[ReducedJoin]].
  *
  * @param shown the identity of the rows that a component shows
  */
final private class SumTreeBuilder(
    definition: ReducedDef,
    arenas: Array[TupleArena],
    counters: Counters,
    shown: Int => KeyIndex
) {
  private[this] val block = definition.block
  val keys = new EdgeKeys(block, arenas)

  val nodes: Array[Array[SumNode]] = definition.components.zipWithIndex.map { case (component, c) =>
    val all = new ArrayBuffer[SumNode]
    val root = build(component, component.tree, all)
    root.up = shown(c)
    projections(component, root)
    all.toArray
  }.toArray

  /** The node of each relation. */
  val relations: Array[RelationNode] =
    nodes.flatten.collect { case node: RelationNode => node }.sortBy(_.relation)

  private def build(component: ComponentDef, tree: query.JoinTree, all: ArrayBuffer[SumNode]): SumNode = {
    val children = tree.children.map(build(component, _, all))
    val node: SumNode = tree match {
      case query.RelationNode(r, _, _) =>
        new RelationNode(
          r,
          arenas(block.relations(r).input),
          definition.ring,
          component.distinct,
          counters,
          definition.lifts(r)
        )
      case query.GeneralizedNode(attributes, _) =>
        new KeyNode(definition.ring, component.distinct, counters, keys.index(attributes))
    }
    node.children = children.toArray
    for ((child, i) <- children.zipWithIndex) {
      child.parent = node
      val separator = tree.separator(tree.children(i))
      node match {
        case above: KeyNode => child.up = above.domain
        case _ => child.up = keys.index(separator)
      }
      readers(child, tree.children(i), separator)
    }
    node match {
      case r: RelationNode =>
        r.down = Array.fill(children.size)(new PagedInts)
        r.lists = Array.fill(children.size)(new IntLists(removable = true))
        r.downReaders = tree.children.map(child => keys.reader(r.relation, tree.separator(child))).toArray
      case _ =>
    }
    all += node
    node
  }

  /** Relations with nothing but generalized nodes between them and `node` read its key from their rows. */
  private def readers(node: SumNode, tree: query.JoinTree, attributes: BitSet): Unit = node match {
    case r: RelationNode => r.upReaders :+= keys.reader(r.relation, attributes)
    case k: KeyNode =>
      for ((child, below) <- k.children.zip(tree.children)) readers(child, below, attributes)
  }

  private def projections(component: ComponentDef, node: SumNode): Unit = node match {
    case r: RelationNode =>
      val fields = block.inputs(block.relations(r.relation).input).fields
      r.projection = new RowProjection(r.arena, fields, component.shown(r.relation).toArray)
    case k: KeyNode => k.children.foreach(projections(component, _))
  }
}
