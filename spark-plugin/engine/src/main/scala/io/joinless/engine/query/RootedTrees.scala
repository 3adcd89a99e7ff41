package io.joinless.engine.query

/** A join tree without generalized nodes except possibly [], hung at its best root: the fallback
  * for very large queries.
  *
  * From the neighbours of a join tree, each connected component is hung at each of its relations;
  * the best is chosen by (height, cost, lowest root). Several components meet in the root [].
  * Neighbours without a common attribute (they link components) do not count as neighbours here.
  *
  * Cost: O(relations²).
  */
private[query] object RootedTrees {

  /** The best rooting of a join tree.
    *
    * @param sizes how often each relation changes, relative to the others
    * @param neighbours pairs (child, parent) of a join tree, as [[GyoReduction]] finds them
    */
  def best(graph: Hypergraph, sizes: IndexedSeq[Double], neighbours: IndexedSeq[(Int, Int)]): JoinTree = {
    val links = (neighbours ++ neighbours.map(_.swap)).groupMap(_._1)(_._2).withDefaultValue(IndexedSeq.empty)

    /** The tree of all relations that are reached from one, hung at it, but not by way of `from`.
      */
    def hung(relation: Int, from: Option[Int]): JoinTree = {
      val edge = graph.edges(relation)
      val below = links(relation).filter(other => !from.contains(other) && edge.exists(graph.edges(other))).sorted
      RelationNode(relation, edge, below.map(hung(_, Some(relation))))
    }

    val trees = graph.components.map { component =>
      component.toIndexedSeq.map(hung(_, None)).minBy(tree => (tree.height, tree.cost(sizes)))(order)
    }
    if (trees.size == 1) trees.head else GeneralizedNode(scala.collection.immutable.BitSet.empty, trees)
  }

  private val order: Ordering[(Int, Double)] = Ordering.Tuple2(Ordering.Int, Ordering.Double.TotalOrdering)
}
