package io.joinless.engine.enumerate

import scala.collection.immutable.BitSet

import io.joinless.engine.tuples.KeyField
import io.joinless.engine.view.BlockDef

/** How results with given values in some fields are reached, as far as the join tree alone decides
  * it (algorithms A70): what [[Lookup]] does, and what explain says of its cost.
  *
  * @param bound the attributes that the fields bind: those that they are keys of
  * @param edges the edges of the tree, by position in `tree.edges`, of which all attributes are
  *     bound, with these attributes; a walk can begin under a key of any of them
  * @param exact the first of these edges whose key has all of the fields: then results are found
  *     with constant delay
  * @param relations those that have a bound field or attribute; the smallest is scanned where no
  *     walk begins under a key
  */
final case class Access(
    bound: BitSet,
    edges: IndexedSeq[(Int, BitSet)],
    exact: Option[Int],
    relations: IndexedSeq[Int]
)

object Access {

  /** @param fields each a relation and one of its fields */
  def apply(block: BlockDef, fields: IndexedSeq[(Int, KeyField)]): Access = {
    val attributes = fields.map { case (relation, field) => attribute(block, relation, field) }
    val bound = BitSet.fromSpecific(attributes.flatten)
    val edges = for {
      ((parent, child), i) <- block.tree.edges.zipWithIndex
      separator = parent.separator(child)
      if separator.nonEmpty && separator.subsetOf(bound)
    } yield i -> separator
    val exact = edges.collectFirst { case (i, separator) if separator == bound && attributes.forall(_.isDefined) => i }
    val having = fields.zip(attributes).flatMap { case ((relation, _), x) =>
      x.fold(IndexedSeq(relation))(relationsWith(block, _))
    }
    Access(bound, edges, exact, having.distinct)
  }

  /** The attribute that a field is a key of. */
  def attribute(block: BlockDef, relation: Int, field: KeyField): Option[Int] =
    block.relations(relation).keys.collectFirst { case (x, f) if f == field => x }

  private def relationsWith(block: BlockDef, attribute: Int): IndexedSeq[Int] =
    block.relations.indices.filter(r => block.relations(r).keys.exists(_._1 == attribute))
}
