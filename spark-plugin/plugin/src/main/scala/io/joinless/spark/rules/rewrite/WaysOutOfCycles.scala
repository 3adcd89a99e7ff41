package io.joinless.spark.rules.rewrite

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{CyclicCore, GyoReduction, Hypergraph}
import io.joinless.spark.rules.blocks.{AttributeClasses, EquiJoinCondition, JoinBlock, Names}
import org.apache.spark.sql.catalyst.expressions.{EqualNullSafe, EqualTo, Expression}

/** Ways to make a cyclic block acyclic, with the names of the query: a few equi-join conditions
  * without which it is acyclic, each with an equivalent condition that is no equi-join condition;
  * or relations that would have to be read as one stream.
  *
  * Both are chosen greedily: the last equi-join condition that opens the cycle alone, else the last
  * one of it and so on; relations that share an attribute, one after the other. Cost: a reduction
  * of the graph per condition and relation tried.
  */
private[spark] object WaysOutOfCycles {

  /** The parts of a message. For the cycle `a.x = b.x`, `b.y = c.y`, `c.z = a.z`:
    * {{{
    * equations     c.z = a.z                           without it the block is acyclic
    * conditions    c.z <= a.z AND c.z >= a.z           in its place
    * joined        a, b                                relations to read as one stream instead
    * }}}
    */
  def apply(block: JoinBlock, core: CyclicCore): Seq[(String, String)] = {
    val opening = equiJoinConditions(block, block.equiJoinConditions, core)
    Seq(
      "equations" -> opening.map(e => named(block, plain(e))).mkString(" and "),
      "conditions" -> opening.map(condition(block, _)).mkString(" AND "),
      "joined" -> joined(graph(block, block.equiJoinConditions), core).map(block.leaves(_).name).mkString(", ")
    )
  }

  /** The block in which the equi-join conditions that close the cycle are conditions on each result
    * of the others.
    */
  def opened(block: JoinBlock, core: CyclicCore): JoinBlock = {
    val opening = equiJoinConditions(block, block.equiJoinConditions, core)
    block.copy(
      equiJoinConditions = block.equiJoinConditions.filterNot(e => opening.exists(_ eq e)),
      cuts = block.cuts ++ opening.map(plain)
    )
  }

  /** A few of `all` without which the block is acyclic: one that is enough alone, if there is any.
    *
    * @param core the cyclic core of the block with all of these conditions
    */
  private def equiJoinConditions(
      block: JoinBlock,
      all: Seq[EquiJoinCondition],
      core: CyclicCore
  ): Seq[EquiJoinCondition] = {
    val classes = AttributeClasses(block.copy(equiJoinConditions = all.toIndexedSeq)).attributes

    /** Whether a condition equates an attribute of the cycle. */
    def closes(e: EquiJoinCondition) =
      core.attributes.exists(classes(_).members.exists(m =>
        m.identity == e.left.identity || m.identity == e.right.identity
      ))
    val candidates = all.filter(closes).reverse
    def without(e: EquiJoinCondition) = graph(block, all.filterNot(_ eq e))
    candidates.find(e => GyoReduction.isAcyclic(without(e))) match {
      case Some(alone) => Seq(alone)
      case None =>
        val first = candidates.head
        val rest = GyoReduction.reduce(without(first)).left.toOption
        rest.toSeq.flatMap(equiJoinConditions(block, all.filterNot(_ eq first), _)) :+ first
    }
  }

  /** Relations of the core without which the graph is acyclic, if one relation with all of their
    * attributes replaces them.
    */
  private def joined(graph: Hypergraph, core: CyclicCore): Seq[Int] = {

    /** The graph with one relation in place of several. */
    def together(some: Seq[Int]) = {
      val one = graph.attributesOf(BitSet.fromSpecific(some))
      Hypergraph(graph.edges.indices.filterNot(some.contains).map(graph.edges) :+ one)
    }

    /** These relations, and further ones that are linked with them until the graph is acyclic. */
    def grown(some: Seq[Int]): Seq[Int] =
      if (GyoReduction.isAcyclic(together(some))) some
      else {
        val near = graph.attributesOf(BitSet.fromSpecific(some))
        val next = core.relations.toSeq.filterNot(some.contains)
        grown(some :+ next.find(r => graph.edges(r).exists(near)).getOrElse(next.head))
      }
    grown(Seq(core.relations.head)).sorted
  }

  /** The hypergraph of the block with these equi-join conditions. */
  private def graph(block: JoinBlock, equiJoinConditions: Seq[EquiJoinCondition]): Hypergraph = {
    val classes = AttributeClasses(block.copy(equiJoinConditions = equiJoinConditions.toIndexedSeq)).attributes
    Hypergraph(block.leaves.indices.map { leaf =>
      BitSet.fromSpecific(classes.indices.filter(x => classes(x).members.exists(_.leaf == leaf)))
    })
  }

  /** The equi-join condition as an expression. */
  private def plain(e: EquiJoinCondition): Expression =
    if (e.nullSafe) EqualNullSafe(e.left.expression, e.right.expression)
    else EqualTo(e.left.expression, e.right.expression)

  /** A condition with the names of the query, without outer brackets. */
  private def named(block: JoinBlock, e: Expression): String =
    Names.of(e, block.leaves).stripPrefix("(").stripSuffix(")")

  /** A condition that is no equi-join condition, and true for the same rows. */
  private def condition(block: JoinBlock, e: EquiJoinCondition): String = {
    val (left, right) = (Names.of(e.left, block.leaves), Names.of(e.right, block.leaves))
    val range = s"$left <= $right AND $left >= $right"
    if (e.nullSafe) s"($range OR $left IS NULL AND $right IS NULL)" else range
  }
}
