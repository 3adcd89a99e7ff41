package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** The reduction to a full join over the output attributes y (algorithms A7), and the free-connex
  * test by it.
  *
  * Relations that share an attribute outside y form an existential component `C`, which is reduced
  * to one relation over `b(C) = attributes(C) ∩ y`. The query is free-connex iff it is acyclic,
  * some relation of every `C` contains `b(C)`, and the graph of the `b(C)` is acyclic. The usual
  * definition is equivalent: the graph is acyclic with and without an additional edge y.
  */
object FreeConnex {

  /** An existential component and the attributes it projects. */
  final case class Component(relations: BitSet, projected: BitSet)

  /** The existential components of a query with these output attributes, by their lowest relations.
    * A relation all of whose attributes are output is a component of its own.
    */
  def components(graph: Hypergraph, output: BitSet): IndexedSeq[Component] =
    graph.components(graph.relations, output).map(c => Component(c, graph.attributesOf(c) & output))

  /** Tests the three conditions above, with the output attributes `output`. */
  def isFreeConnex(graph: Hypergraph, output: BitSet): Boolean = {
    val reduced = components(graph, output)
    reduced.forall(c => c.relations.exists(r => c.projected.subsetOf(graph.edges(r)))) &&
    GyoReduction.isAcyclic(graph) &&
    GyoReduction.isAcyclic(Hypergraph(reduced.map(_.projected)))
  }
}
