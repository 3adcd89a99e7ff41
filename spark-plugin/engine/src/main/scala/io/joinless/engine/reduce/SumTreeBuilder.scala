package io.joinless.engine.reduce

import scala.collection.immutable.BitSet
import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.query
import io.joinless.engine.tuples.{IntLists, KeyIndex, PagedInts, PagedWords, TupleArena}
import io.joinless.engine.view.{Counters, EdgeKeys}

/** Builds the nodes of a [[ReducedJoin]].
  *
  * @param identities of the rows of inputs
  * @param projectedIdentity the identity of a component's projected rows
  */
final private class SumTreeBuilder(
    definition: ReducedDef,
    arenas: Array[TupleArena],
    identities: Array[KeyIndex],
    whole: WholeRows,
    counters: Counters,
    projectedIdentity: Int => KeyIndex
) {
  private[this] val block = definition.block
  val keys = new EdgeKeys(block, arenas)

  val nodes: Array[Array[SumNode]] = definition.components.zipWithIndex.map { case (component, c) =>
    val built = new ArrayBuffer[SumNode]
    val root = build(c, component.tree, isRoot = true, built)
    root.up = projectedIdentity(c)
    root match {
      case node: RelationNode => node.isKey = whole.isProjected(c, node.relation)
      case _ =>
    }
    if (!isProjected(root)) giveSums(IndexedSeq(root))
    projections(component, root)
    built.toArray
  }.toArray

  /** The node of each relation. */
  val relations: Array[RelationNode] =
    nodes.flatten.collect { case node: RelationNode => node }.sortBy(_.relation)

  /** Builds a node of component `c` and all below it, and adds them to `built`, children first. The
    * keys `up` of a child's tuples, and whether its rows are these keys:
    * {{{
    * parent        child                     up                        isKey
    * generalized   relation                  the parent's `domain`     if they are its rows
    *               generalized               the parent's `domain`
    * relation      relation of whole rows    the identity of its rows  yes
    *               others                    an index of the edge      no
    * }}}
    * The root's `up` is set by the caller.
    */
  private def build(c: Int, tree: query.JoinTree, isRoot: Boolean, built: ArrayBuffer[SumNode]): SumNode = {
    val component = definition.components(c)
    val children = tree.children.map(build(c, _, isRoot = false, built))
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
        val isProjected = isRoot && projects(component, attributes)
        val domain = if (isProjected) projectedIdentity(c) else keys.index(attributes)
        new KeyNode(definition.ring, component.distinct, counters, domain, isProjected)
    }
    node.children = children.toArray
    for ((child, i) <- children.zipWithIndex) {
      child.parent = node
      val separator = tree.separator(tree.children(i))
      (node, child) match {
        case (above: KeyNode, below: RelationNode) =>
          below.up = above.domain
          below.isKey = above.isProjected && whole.isProjected(c, below.relation)
        case (above: KeyNode, _) => child.up = above.domain
        case (_, below: RelationNode) if whole.isKey(below.relation, separator) =>
          below.up = identities(block.relations(below.relation).input)
          below.isKey = true
        case _ => child.up = keys.index(separator)
      }
      if (!isProjected(node)) readers(child, tree.children(i), separator)
    }
    node match {
      case above: KeyNode =>
        giveSums(children ++ Option.when(above.isProjected)(above))
      case r: RelationNode =>
        for (child <- children) giveSums(IndexedSeq(child))
        r.down = Array.fill(children.size)(new PagedInts)
        r.lists = Array.fill(children.size)(new IntLists(removable = true))
        r.downReaders = tree.children.zip(children).map {
          case (child, below: RelationNode) if below.isKey =>
            whole.reader(keys, r.relation, below.relation, tree.separator(child))
          case (child, _) => keys.reader(r.relation, tree.separator(child))
        }.toArray
    }
    built += node
    node
  }

  private def isProjected(node: SumNode): Boolean = node match {
    case k: KeyNode => k.isProjected
    case _ => false
  }

  /** Whether a component projects exactly these attributes. All relations that meet its root have
    * its columns, so the first one decides.
    */
  private def projects(component: ComponentDef, attributes: BitSet): Boolean = {
    val r = ComponentDef.atRoot(component.tree).head
    val columns = component.projected(r).map(_.ordinal)
    columns.size == attributes.size &&
    columns.toSet == block.relations(r).keys.collect { case (x, field) if attributes(x) => field.ordinal }.toSet
  }

  /** Assigns sums to nodes; nodes with the same keys share the records of their sums. */
  private def giveSums(nodes: IndexedSeq[SumNode]): Unit = {
    // a leaf whose rows are the keys: a batch changes each row once
    def isTouchedOnce(node: SumNode) = node match {
      case r: RelationNode => r.isKey && r.children.isEmpty
      case _ => false
    }
    val words = nodes.map(node => KeySums.words(definition.ring, isTouchedOnce(node)))
    val records = new PagedWords(words.sum)
    for ((node, offset) <- nodes.zip(words.scanLeft(0)(_ + _)))
      node.sums = new KeySums(definition.ring, records, offset, isTouchedOnce(node))
  }

  /** Registers the key readers of `node`: relations with only generalized nodes between them and
    * `node` read its key from their rows.
    */
  private def readers(node: SumNode, tree: query.JoinTree, attributes: BitSet): Unit = node match {
    case r: RelationNode => r.upReaders :+= keys.reader(r.relation, attributes)
    case k: KeyNode =>
      for ((child, below) <- k.children.zip(tree.children)) readers(child, below, attributes)
  }

  /** Gives the relations that meet a component's root the projection of their rows. */
  private def projections(component: ComponentDef, node: SumNode): Unit = node match {
    case r: RelationNode =>
      r.projection = keys.projection(r.relation, component.projected(r.relation))
    case k: KeyNode => k.children.foreach(projections(component, _))
  }
}
