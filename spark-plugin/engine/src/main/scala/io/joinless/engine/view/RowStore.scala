package io.joinless.engine.view

import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena, TupleKeys}

/** The rows of a join block's inputs, each stored once, how often each is in each relation, and what is kept of them besides: the state
  * of a block, whatever is done with it.
  */
trait RowStore {
  def block: BlockDef

  def counters: Counters

  /** Where the rows of an input lie; there may be others, whose counts are 0 in all of its relations. */
  def arena(input: Int): TupleArena

  /** Row → row id of a retractable input; null for one that is only appended to. */
  private[engine] def identity(input: Int): KeyIndex

  /** How often each row of a retractable input is in the relation, by row id; null where each counts once. */
  private[engine] def multiplicities(relation: Int): PagedLongs

  /** How often a row of a retractable input is there for a relation. Where deletes may come before their inserts it can be
    * negative: the row is owed, and absent.
    */
  final def multiplicity(relation: Int, row: Int): Long = multiplicities(relation)(row)

  /** Whether a row of a retractable input is in some relation, or owed there. */
  final def isThere(input: Int, row: Int): Boolean = {
    val relations = block.relationsOf(input)
    var i = 0
    while (i < relations.length) { if (multiplicity(relations(i), row) != 0L) return true; i += 1 }
    false
  }

  /** Id of the row of a retractable input with this content that is there, −1 where none is. */
  final def find(input: Int, words: Array[Long], count: Int): Int = {
    val row = identity(input).find(words, count)
    if (row >= 0 && isThere(input, row)) row else -1
  }

  /** The keys that are noted of an input's rows, and are to be forgotten with them. */
  private[engine] def keysOfRows(input: Int): Array[TupleKeys]

  /** Rows stored, over all inputs. */
  final def rows: Long = rowsOfInputs.sum

  final def rowsOfInputs: IndexedSeq[Long] = block.inputs.indices.map(rowsOf)

  def rowsOf(input: Int): Long = arena(input).live.toLong

  /** Distinct keys, over all edges. */
  def keys: Long

  /** Alive tuples of nodes that have children and are part of a result. */
  def liveTuples: Long

  /** Heap held. */
  def bytes: Long
}
