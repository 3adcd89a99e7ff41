package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** The q-hierarchical test (algorithms A5). Exactly these queries can be maintained in constant
  * time per change, for any sequence of changes, and exactly these have a join tree of height 1.
  *
  * Hierarchical: the sets `at(x)` of the relations with attribute x are pairwise nested or
  * disjoint. With output attributes y in addition: if x is in y and `at(x) ⊊ at(z)`, then z is in
  * y.
  *
  * Cost: O(attributes²) set operations.
  */
object QHierarchical {

  /** The test with all attributes in the output, as in rows mode. */
  def isHierarchical(graph: Hypergraph): Boolean = isQHierarchical(graph, graph.attributes)

  /** The test with the output attributes `output`: both conditions for each pair of attributes. */
  def isQHierarchical(graph: Hypergraph, output: BitSet): Boolean = {
    val occurrences = graph.attributes.toIndexedSeq.map(x => (x, graph.at(x)))
    occurrences.forall { case (x, atX) =>
      occurrences.forall { case (z, atZ) =>
        val nested = atX.subsetOf(atZ) || atZ.subsetOf(atX) || !atX.exists(atZ)
        val closed = !output(x) || output(z) || !atX.subsetOf(atZ) || atX == atZ
        nested && closed
      }
    }
  }
}
