package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.Hypergraph

/** The vertices of a block's hypergraph where its results are counted: its attributes, followed by
  * the columns that are projected or read by conditions and are no keys.
  */
final case class ReducedVertices(block: BlockCore) {
  private val refs = (block.output ++ block.residuals.flatMap(_.columns)).distinct
  private val columns = refs.filter(c => key(c).isEmpty)

  private def key(c: ColumnRef): Option[Int] =
    block.relations(c.relation).keys.collectFirst { case k if k.ordinal == c.ordinal => k.attribute }

  def of(c: ColumnRef): Int = key(c).getOrElse(block.attributes.size + columns.indexOf(c))

  /** The ordinal of a vertex among the columns of a relation. */
  def ordinal(relation: Int, vertex: Int): Int =
    if (vertex >= block.attributes.size) columns(vertex - block.attributes.size).ordinal
    else block.relations(relation).keys.find(_.attribute == vertex).get.ordinal

  def projected: BitSet = BitSet.fromSpecific(refs.map(of))

  def graph: Hypergraph = Hypergraph(block.relations.indices.map { r =>
    BitSet.fromSpecific(
      block.relations(r).keys.map(_.attribute) ++ columns.filter(_.relation == r).map(of)
    )
  })
}
