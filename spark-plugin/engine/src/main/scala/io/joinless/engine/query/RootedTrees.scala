package io.joinless.engine.query

import scala.collection.immutable.BitSet

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
    val trees = graph.components.map(best(graph, sizes, neighbours, _))
    if (trees.size == 1) trees.head else GeneralizedNode(BitSet.empty, trees)
  }

  /** The join tree hung at a relation; other components are hung below it at their best roots. */
  def at(
      graph: Hypergraph,
      sizes: IndexedSeq[Double],
      neighbours: IndexedSeq[(Int, Int)],
      root: Int
  ): JoinTree = {
    val own = hung(graph, neighbours, root)
    own.copy(children = own.children ++ graph.components.filterNot(_(root)).map(best(graph, sizes, neighbours, _)))
  }

  /** The best rooting of a component's join tree. */
  private def best(
      graph: Hypergraph,
      sizes: IndexedSeq[Double],
      neighbours: IndexedSeq[(Int, Int)],
      component: BitSet
  ): JoinTree =
    component.toIndexedSeq.map(hung(graph, neighbours, _)).minBy(tree => (tree.height, tree.cost(sizes)))(order)

  /** The tree of a component, hung at one of its relations. */
  private def hung(graph: Hypergraph, neighbours: IndexedSeq[(Int, Int)], root: Int): RelationNode = {
    val links = (neighbours ++ neighbours.map(_.swap)).groupMap(_._1)(_._2).withDefaultValue(IndexedSeq.empty)

    /** The tree of all relations that are reached from one, hung at it, but not by way of `before`.
      */
    def from(relation: Int, before: Option[Int]): RelationNode = {
      val edge = graph.edges(relation)
      val below = links(relation).filter(other => !before.contains(other) && edge.exists(graph.edges(other))).sorted
      RelationNode(relation, edge, below.map(from(_, Some(relation))))
    }
    from(root, None)
  }

  private val order: Ordering[(Int, Double)] = Ordering.Tuple2(Ordering.Int, Ordering.Double.TotalOrdering)
}
