package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** A query as data: the join attributes of each relation (algorithms A1, architecture D1).
  *
  * `edges(r)` holds the attributes of relation `r`. Equal edges, empty edges and attributes of a
  * single relation are all legal; relations are distinguished by their ordinal only.
  */
final case class Hypergraph(edges: IndexedSeq[BitSet]) {

  def size: Int = edges.size

  def relations: BitSet = BitSet.fromSpecific(edges.indices)

  lazy val attributes: BitSet = attributesOf(relations)

  /** All attributes of some relations. */
  def attributesOf(some: BitSet): BitSet = some.foldLeft(BitSet.empty)(_ | edges(_))

  /** `at(x)`: the relations that have attribute `x`. */
  def at(attribute: Int): BitSet = relations.filter(edges(_)(attribute))

  /** The components of `some` relations after the attributes `cut` are removed: two relations are
    * linked if they share an attribute outside `cut`. Ordered by their lowest relation. A relation
    * contained in `cut` is a component of its own.
    *
    * Cost: O(|some|²) set operations.
    */
  def components(some: BitSet, cut: BitSet): IndexedSeq[BitSet] = {
    val found = IndexedSeq.newBuilder[BitSet]
    var rest = some
    while (rest.nonEmpty) {
      val component = componentOf(rest.head, rest, cut)
      found += component
      rest = rest &~ component
    }
    found.result()
  }

  /** The connected components of the whole graph. */
  def components: IndexedSeq[BitSet] = components(relations, BitSet.empty)

  /** The component of `start` among `some` relations: see `components`. */
  private def componentOf(start: Int, some: BitSet, cut: BitSet): BitSet = {
    var component = BitSet(start)
    var reached = edges(start) &~ cut
    var grows = true
    while (grows) {
      val linked = (some &~ component).filter(r => edges(r).exists(reached))
      grows = linked.nonEmpty
      component = component | linked
      reached = reached | (attributesOf(linked) &~ cut)
    }
    component
  }

  /** The distinct intersections of two of `some` relations, in lexicographic order. */
  def meets(some: BitSet): IndexedSeq[BitSet] = {
    val ordered = some.toIndexedSeq
    val pairs = for (i <- ordered.indices; j <- i + 1 until ordered.size) yield edges(ordered(i)) & edges(ordered(j))
    pairs.distinct.sorted(Hypergraph.lexicographic)
  }

  /** The same graph with one more edge. */
  def +(edge: BitSet): Hypergraph = Hypergraph(edges :+ edge)
}

object Hypergraph {

  def of(edges: Iterable[Int]*): Hypergraph = Hypergraph(edges.map(BitSet.fromSpecific(_)).toIndexedSeq)

  private val lexicographic: Ordering[BitSet] = Ordering.Implicits.seqOrdering[IndexedSeq, Int].on(_.toIndexedSeq)
}
