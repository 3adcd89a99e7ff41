package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** Functional dependencies of a query (algorithms A63): which attributes determine others. A key
  * of a relation determines all of its attributes.
  *
  * `closure(X)` is the least set that contains X and, with the left side of a dependency, its right
  * side. The ''reduct'' of a query has for each relation the closure of its attributes. It has the
  * same results: a determined attribute adds no row. Its class bounds the cost of a change, if the
  * dependencies hold.
  * {{{
  * orders(id, shop)  shops(shop, city)  cities(city, country)
  * keys: shop of shops, city of cities
  * reduct: orders(id, shop, city, country)  shops(shop, city, country)  cities(city, country)
  * }}}
  * The query is not hierarchical, its reduct is. An attribute of one relation only need not be
  * considered: of two attributes that are determined, the sets of relations are nested or disjoint
  * with or without it.
  */
final case class Dependencies(all: Seq[Dependency]) {

  /** The attributes that some attributes determine, themselves included.
    *
    * Cost: O(dependencies²) set operations.
    */
  def closure(attributes: BitSet): BitSet = {
    var known = attributes
    var grows = true
    while (grows) {
      val more = all.filter(_.by.subsetOf(known)).foldLeft(known)(_ | _.determined)
      grows = more.size > known.size
      known = more
    }
    known
  }

  /** The query in which each relation has all attributes that its own determine. */
  def reduct(graph: Hypergraph): Hypergraph = Hypergraph(graph.edges.map(closure))
}

/** The attributes `by` determine those in `determined`. */
final case class Dependency(by: BitSet, determined: BitSet)

object Dependencies {

  /** The dependencies that keys declare.
    *
    * @param keys per relation, the sets of its attributes by each of which its rows are unique
    */
  def ofKeys(graph: Hypergraph, keys: IndexedSeq[Seq[BitSet]]): Dependencies =
    Dependencies(for ((edge, own) <- graph.edges.zip(keys); by <- own) yield Dependency(by, edge))
}
