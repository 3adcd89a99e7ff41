package io.joinless.engine.query

import scala.collection.immutable.BitSet

/** Named queries. */
object ShapesOfQueries {

  /** L1, L2, …: G1(A,B), G2(B,C), G3(C,D), … */
  def line(relations: Int): Hypergraph = Hypergraph(IndexedSeq.tabulate(relations)(r => BitSet(r, r + 1)))

  /** G1(A,B1), G2(A,B2), …; A is attribute 0. */
  def star(relations: Int): Hypergraph = Hypergraph(IndexedSeq.tabulate(relations)(r => BitSet(0, r + 1)))

  /** L3 with a relation at either end: G1(A,B), G2(B,C), G3(C,D), V1(A), V2(D). */
  val comb: Hypergraph = Hypergraph.of(Seq(0, 1), Seq(1, 2), Seq(2, 3), Seq(0), Seq(3))

  /** A fact with three dimensions, two of which have a dimension of their own. */
  val snowflake: Hypergraph = Hypergraph.of(Seq(0, 1, 2), Seq(0, 3), Seq(1, 4), Seq(2), Seq(3), Seq(4))

  /** Bushy, with keys of two columns: R(a,b,c) S(a,b,d) T(d,e) U(a,b,f) V(f,g). */
  val bushy: Hypergraph = Hypergraph.of(Seq(0, 1, 2), Seq(0, 1, 3), Seq(3, 4), Seq(0, 1, 5), Seq(5, 6))

  def cycle(relations: Int): Hypergraph =
    Hypergraph(IndexedSeq.tabulate(relations)(r => BitSet(r, (r + 1) % relations)))

  /** A relation for each pair of attributes. */
  def clique(attributes: Int): Hypergraph =
    Hypergraph(IndexedSeq.range(0, attributes).combinations(2).map(BitSet.fromSpecific(_)).toIndexedSeq)

  /** Triangles ABC and DEF, joined by the edge CD. */
  val dumbbell: Hypergraph =
    Hypergraph.of(Seq(0, 1), Seq(1, 2), Seq(2, 0), Seq(2, 3), Seq(3, 4), Seq(4, 5), Seq(5, 3))

  /** A triangle ABC with a path to E. */
  val lollipop: Hypergraph = Hypergraph.of(Seq(0, 1), Seq(1, 2), Seq(2, 0), Seq(2, 3), Seq(3, 4))

  /** Relations with the same attributes. */
  def equal(relations: Int): Hypergraph = Hypergraph(IndexedSeq.fill(relations)(BitSet(0, 1)))

  /** Relations without a common attribute. */
  def product(relations: Int): Hypergraph = Hypergraph(IndexedSeq.fill(relations)(BitSet.empty))
}
