package io.joinless.engine.view

import scala.collection.immutable.BitSet

import io.joinless.engine.query.JoinTree
import io.joinless.engine.tuples.KeyField

/** What a view tree is built from: the join block as data (architecture D1). All references are ordinals.
  *
  * @param forgets rows of append-only inputs may be forgotten, in any order
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

  /** The attribute's values vary in length. */
  def isVariable(attribute: Int): Boolean =
    relations.exists(_.keys.exists { case (a, field) => a == attribute && field.variable })

  /** Keys of an edge on these attributes: which of them can be NULL, in their order. */
  def nullSafe(separator: BitSet): Array[Boolean] = separator.toArray.map(attributes(_).nullSafe)

  /** Results can disappear: some input is retractable. */
  def retractable: Boolean = inputs.exists(_.retractable)

  /** Rows can disappear. */
  def removable: Boolean = forgets || retractable
}

/** Rows of `fields` fields (format: [[io.joinless.engine.tuples.KeyReader]]).
  *
  * @param fixedWords words of every row, 0 where rows vary
  * @param retractable rows are inserted and deleted, equal rows are one row with a multiplicity; otherwise rows are only
  *   appended and equal rows stay separate, which saves a probe per row
  * @param once each row that is there counts once, so that nothing is kept of how often
  */
final case class InputDef(fields: Int, fixedWords: Int, retractable: Boolean, once: Boolean = false) {

  /** Rows have a multiplicity. */
  def counted: Boolean = retractable && !once
}

/** A class of equated columns; `nullSafe`: NULL equals NULL. Elsewhere a row with NULL there must not be inserted. */
final case class AttributeDef(nullSafe: Boolean)

/** One role of an input in the block; several relations may share an input (self-joins).
  *
  * @param shown fields that results show, where all of them are of fixed width ([[ShownFields]]); none where rows are read anyway
  */
final case class RelationDef(input: Int, keys: IndexedSeq[(Int, KeyField)], shown: IndexedSeq[Int] = IndexedSeq.empty)
