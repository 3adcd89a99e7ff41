package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query.{BagNode, JoinTree}
import io.joinless.engine.tuples.KeyField

/** The join block as data, from which a view tree is built (architecture D1). All references are
  * ordinals.
  *
  * @param forgets rows of append-only inputs may be deleted, in any order
  */
final case class BlockDef(
    inputs: IndexedSeq[InputDef],
    attributes: IndexedSeq[AttributeDef],
    relations: IndexedSeq[RelationDef],
    tree: JoinTree,
    forgets: Boolean = false
) {
  require(relations.size <= 63, "a block has at most 63 relations: sets of relations are bits of a long")

  /** By input: the relations that its rows can be in. */
  val relationsOf: IndexedSeq[Array[Int]] =
    inputs.indices.map(i => relations.indices.filter(relations(_).input == i).toArray)

  /** The input of which these relations (bit set) are roles. */
  def inputOf(roles: Long): Int = relations(java.lang.Long.numberOfTrailingZeros(roles)).input

  /** Whether the attribute's values vary in length. */
  def isVariable(attribute: Int): Boolean =
    relations.exists(_.keys.exists { case (a, field) => a == attribute && field.variable })

  /** For keys of an edge on these attributes: which of the attributes treat NULL as a value, in
    * their order.
    */
  def nullSafe(separator: BitSet): Array[Boolean] = separator.toArray.map(attributes(_).nullSafe)

  /** Whether results can be deleted: some input is retractable. */
  def retractable: Boolean = inputs.exists(_.retractable)

  /** Whether the relations are joined by intersection; then no relation has views. */
  def isBag: Boolean = tree.isInstanceOf[BagNode]

  /** Whether rows can be deleted. */
  def removable: Boolean = forgets || retractable
}

/** Rows of `fields` fields (format: [[io.joinless.engine.tuples.KeyReader]]).
  *
  * @param fixedWords words of every row, 0 if rows vary in length
  * @param retractable rows are inserted and deleted, equal rows are one row with a multiplicity;
  *     otherwise rows are only appended and equal rows stay separate, which saves a probe per row
  * @param once each present row counts once, so no multiplicities are stored
  */
final case class InputDef(fields: Int, fixedWords: Int, retractable: Boolean, once: Boolean = false) {

  /** Whether rows have a stored multiplicity. */
  def counted: Boolean = retractable && !once
}

/** A class of equated columns; `nullSafe`: NULL equals NULL. For other classes a row with NULL
  * there must not be inserted.
  */
final case class AttributeDef(nullSafe: Boolean)

/** One role of an input in the block; several relations may share an input (self-joins).
  *
  * @param projected the projected fields, if all of them are of fixed width
  *     ([[FieldLocations]]); none if rows are read anyway
  */
final case class RelationDef(
    input: Int,
    keys: IndexedSeq[(Int, KeyField)],
    projected: IndexedSeq[Int] = IndexedSeq.empty
)
