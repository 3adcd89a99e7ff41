package io.joinless.engine.reduce

import scala.collection.immutable.BitSet

import io.joinless.engine.view.BlockDef

/** The vertices by which totals over a cycle of three relations are grouped. Counts of the
  * triangles R(a,b) ⋈ S(b,c) ⋈ T(c,a):
  * {{{
  * GROUP BY c          vertex 2, which S has first
  * GROUP BY a, b       vertices 0 and 1, which R has
  * }}}
  *
  * @param vertices at most two: vertex j is what relation j shares with the one before
  * @param relation the first one that has all of them
  */
final private[reduce] class CycleKeys(val vertices: Array[Int], val relation: Int) {

  /** Whether a vertex, counted around the cycle, is a key. */
  def has(vertex: Int): Boolean = vertices.contains(vertex % 3)
}

private[reduce] object CycleKeys {

  /** The keys that are these attributes of the top's relations. */
  def of(top: BlockDef, attributes: BitSet): CycleKeys = {
    val edges = top.relations.map(r => BitSet.fromSpecific(r.keys.map(_._1)))
    val vertices = edges.indices.filter(j => (edges(j) & edges((j + 2) % 3)).subsetOf(attributes)).toArray
    require(vertices.length == attributes.size && vertices.length < 3, "keys are one or two vertices of the cycle")
    new CycleKeys(vertices, edges.indexWhere(attributes.subsetOf(_)))
  }
}
