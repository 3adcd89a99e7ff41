package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.query
import io.joinless.engine.tuples.{IntLists, KeyIndex, PagedInts, PagedWords, RowProjection, TupleArena}
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
    val root = build(component, component.tree, Some(shown(c)), all)
    root.up = shown(c)
    if (!isShown(root)) root.sums = sums(1).head
    projections(component, root)
    all.toArray
  }.toArray

  /** The node of each relation. */
  val relations: Array[RelationNode] =
    nodes.flatten.collect { case node: RelationNode => node }.sortBy(_.relation)

  /** @param shownAs at the root, the index of what it shows */
  private def build(
      component: ComponentDef,
      tree: query.JoinTree,
      shownAs: Option[KeyIndex],
      all: ArrayBuffer[SumNode]
  ): SumNode = {
    val children = tree.children.map(build(component, _, None, all))
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
        val shown = shownAs.filter(_ => shows(component, attributes))
        val domain = shown.getOrElse(keys.index(attributes))
        new KeyNode(definition.ring, component.distinct, counters, domain, shown.isDefined)
    }
    node.children = children.toArray
    for ((child, i) <- children.zipWithIndex) {
      child.parent = node
      val separator = tree.separator(tree.children(i))
      child.up = node match {
        case above: KeyNode => above.domain
        case _ => keys.index(separator)
      }
      if (!isShown(node)) readers(child, tree.children(i), separator)
    }
    node match {
      case above: KeyNode =>
        for ((of, sums) <- (children ++ Option.when(above.isShown)(above)).zip(sums(children.size + 1))) of.sums = sums
      case r: RelationNode =>
        for (child <- children) child.sums = sums(1).head
        r.down = Array.fill(children.size)(new PagedInts)
        r.lists = Array.fill(children.size)(new IntLists(removable = true))
        r.downReaders = tree.children.map(child => keys.reader(r.relation, tree.separator(child))).toArray
    }
    all += node
    node
  }

  private def isShown(node: SumNode): Boolean = node match {
    case k: KeyNode => k.isShown
    case _ => false
  }

  /** Whether a component shows just these attributes. */
  private def shows(component: ComponentDef, attributes: BitSet): Boolean = {
    val r = ComponentDef.atRoot(component.tree).head
    val columns = component.shown(r).map(_.ordinal)
    columns.size == attributes.size &&
    columns.toSet == block.relations(r).keys.collect { case (x, field) if attributes(x) => field.ordinal }.toSet
  }

  /** Sums that share their records. */
  private def sums(count: Int): IndexedSeq[KeySums] = {
    val words = KeySums.words(definition.ring)
    val records = new PagedWords(count * words)
    IndexedSeq.tabulate(count)(i => new KeySums(definition.ring, records, i * words))
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
