package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** The smallest of the nested classes that a query belongs to; it bounds the cost of a change. */
sealed abstract class QueryClass(val name: String)

object QueryClass {

  /** Constant time per change, for any sequence of changes. */
  case object QHierarchical extends QueryClass("q-hierarchical")

  /** Linear state and constant delay over the output attributes; amortised constant time if nothing
    * is deleted.
    */
  case object FreeConnex extends QueryClass("free-connex")

  /** As free-connex, if the full join's attributes are output too. */
  case object Acyclic extends QueryClass("acyclic")

  case object Cyclic extends QueryClass("cyclic")

  /** The class of a query with the output attributes `output`. */
  def of(graph: Hypergraph, output: BitSet): QueryClass =
    if (io.joinless.engine.query.QHierarchical.isQHierarchical(graph, output)) QHierarchical
    else if (io.joinless.engine.query.FreeConnex.isFreeConnex(graph, output)) FreeConnex
    else if (GyoReduction.isAcyclic(graph)) Acyclic
    else Cyclic

  /** The class in rows mode, where every join attribute is output. */
  def of(graph: Hypergraph): QueryClass = of(graph, graph.attributes)
}
