package io.joinless.spark.spec

import scala.collection.immutable.BitSet

import io.joinless.engine.query.JoinTree

/** The part of a stateful node that follows from the query, and the join tree chosen for it. It is
  * the same in all batches and does not depend on the cluster; the part that does is in
  * [[BlockSpec]].
  *
  * @param properties what the block has besides its core; all are listed in [[BlockProperties]]
  * @param unboundedBy per relation without a lifetime, the relation whose later rows can join its
  *   rows at any time (unbounded). For people; not recorded. Empty where no relation has an event
  *   time
  * @param uniqueBy per relation, the attributes by which its rows are unique, where groups have
  *   these rows: those of a GROUP BY, or of a declared key. For people; not recorded, as the groups
  *   are. Empty where nothing is known
  */
final case class BlockShape(
    id: NodeId,
    inputs: IndexedSeq[InputSpec],
    attributes: IndexedSeq[AttributeSpec],
    relations: IndexedSeq[RelationSpec],
    tree: JoinTree,
    residuals: IndexedSeq[ResidualSpec],
    output: IndexedSeq[ColumnRef],
    properties: PropertyValues = PropertyValues.Defaults,
    unboundedBy: IndexedSeq[Option[Int]] = IndexedSeq.empty,
    uniqueBy: IndexedSeq[Option[BitSet]] = IndexedSeq.empty
) extends BlockCore {

  def apply[A](property: BlockProperty[A]): A = properties(property)

  /** The shape with another value of a property. */
  def having[A](property: BlockProperty[A], value: A): BlockShape =
    copy(properties = properties.updated(property, value))

  // the properties that are read in many places, by their names
  def result: Option[ResultSpec] = properties(ResultSpec)
  def staticsAtArrival: Boolean = properties(StaticsAtArrival)
  def meaning: Option[MeaningSpec] = properties(MeaningSpec)
  def constants: Option[IndexedSeq[String]] = properties(FixedConditions)
  def origins: Option[IndexedSeq[OriginSpec]] = properties(OriginSpec)
  def reduction: Option[ReductionSpec] = properties(ReductionSpec)
  def order: IndexedSeq[IndexedSeq[String]] = properties(ColumnsInOrder)
  def sample: Option[SampleSpec] = properties(SampleSpec)

  /** The shape with further conditions, per relation, that a changelog's rows have passed. */
  def filteredBefore(filters: IndexedSeq[IndexedSeq[String]]): BlockShape =
    having(MeaningSpec, meaning.map(_.filteredBefore(filters)))
}
