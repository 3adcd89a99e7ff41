package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** Every join tree of a small query, straight from the definition: the oracle of the search. */
object AllTrees {

  def of(graph: Hypergraph): Iterator[JoinTree] =
    anyRoot(graph, graph.relations).filter { tree =>
      JoinTree.violations(tree, graph).isEmpty && emptySeparatorsOnlyAtTheTop(tree, graph)
    }

  /** Whether components without a common attribute meet in the root [], and nowhere else. */
  private def emptySeparatorsOnlyAtTheTop(tree: JoinTree, graph: Hypergraph): Boolean = {
    val apart = graph.components.size
    val open = tree.edges.filter { case (parent, child) => parent.separator(child).isEmpty }
    if (apart == 1) open.isEmpty else open.forall(_._1 eq tree) && open.size == apart && tree.attributes.isEmpty
  }

  private def anyRoot(graph: Hypergraph, some: BitSet): Iterator[JoinTree] =
    relationRoot(graph, some) ++ {
      for {
        parts <- partitions(some.toList).iterator
        if parts.size >= 2
        below <- choices(parts.map(anyRoot(graph, _)))
        meet <- below.map(_.attributes).reduce(_ & _).subsets()
        if attributesOutside(graph, parts).subsetOf(meet)
      } yield GeneralizedNode(meet, below)
    }

  /** Attributes that two of the parts share; they must be in the node where the parts meet. Only a
    * shortcut.
    */
  private def attributesOutside(graph: Hypergraph, parts: List[BitSet]): BitSet =
    BitSet.fromSpecific(graph.attributes.filter(x => parts.count(_.exists(graph.edges(_)(x))) > 1))

  private def relationRoot(graph: Hypergraph, some: BitSet): Iterator[JoinTree] =
    for {
      root <- some.iterator
      parts <- partitions((some - root).toList).iterator
      below <- choices(parts.map(relationRoot(graph, _)))
    } yield RelationNode(root, graph.edges(root), below)

  private def choices(options: List[Iterator[JoinTree]]): Iterator[IndexedSeq[JoinTree]] =
    options.map(_.toIndexedSeq).foldLeft(Iterator(IndexedSeq.empty[JoinTree])) { (chosen, next) =>
      chosen.flatMap(sofar => next.iterator.map(sofar :+ _))
    }

  private def partitions(some: List[Int]): List[List[BitSet]] = some match {
    case Nil => List(Nil)
    case first :: rest =>
      partitions(rest).flatMap { parts =>
        (BitSet(first) :: parts) :: parts.indices.toList.map(i => parts.updated(i, parts(i) + first))
      }
  }
}
