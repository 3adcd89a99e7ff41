package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** GYO reduction (Graham; Yu and Ozsoyoglu): the acyclicity test, and the join tree that it yields.
  *
  * Two steps, until neither applies: drop an attribute that only one remaining relation has; drop a
  * relation whose remaining attributes are contained in another's. The graph is acyclic if one
  * relation remains. Otherwise the remaining relations are the ''core''. It does not depend on the
  * order of the steps, up to the choice between equal relations (the lowest ordinal stays).
  *
  * A dropped relation becomes a neighbour of the one that contains it; these edges form a join tree
  * over the relations. Relations of different connected components become neighbours too, with an
  * empty separator.
  *
  * Cost: O(relations² · attributes) per dropped relation.
  */
object GyoReduction {

  /** The neighbours (child, parent) of a join tree, or the core of a cyclic graph. */
  def reduce(graph: Hypergraph): Either[CyclicCore, IndexedSeq[(Int, Int)]] = {
    val remaining = graph.edges.toArray
    var alive = graph.relations
    val neighbours = IndexedSeq.newBuilder[(Int, Int)]

    /** Drops the attributes that only one remaining relation has. */
    def dropLonelyAttributes(): Unit = {
      val (_, shared) = alive.foldLeft((BitSet.empty, BitSet.empty)) { case ((seen, seenTwice), r) =>
        (seen | remaining(r), seenTwice | (seen & remaining(r)))
      }
      alive.foreach(r => remaining(r) = remaining(r) & shared)
    }

    /** The highest relation contained in another one, with the lowest that contains it. */
    def contained: Option[(Int, Int)] =
      alive.toIndexedSeq.reverseIterator
        .flatMap(r => alive.find(other => other != r && remaining(r).subsetOf(remaining(other))).map(r -> _))
        .nextOption()

    dropLonelyAttributes()
    var next = contained
    while (next.isDefined) {
      next.foreach { case (child, parent) =>
        neighbours += child -> parent
        alive = alive - child
      }
      dropLonelyAttributes()
      next = contained
    }
    if (alive.size <= 1) Right(neighbours.result())
    else Left(CyclicCore(alive, alive.foldLeft(BitSet.empty)(_ | remaining(_))))
  }

  def isAcyclic(graph: Hypergraph): Boolean = reduce(graph).isRight
}

/** The reason why a graph is cyclic: these relations close a cycle through these attributes. Every
  * other relation and attribute can be dropped step by step; none of these can.
  */
final case class CyclicCore(relations: BitSet, attributes: BitSet)
