package io.joinless.engine.view

import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena}

/** The rows of a join block's inputs, each stored once, how often each is in each relation, and what is kept of them besides: the state
  * of a block, whatever is done with it.
  */
trait RowStore {
  def block: BlockDef

  def counters: Counters

  def arena(input: Int): TupleArena

  /** Row → row id of a retractable input; null for one that is only appended to. */
  private[engine] def identity(input: Int): KeyIndex

  /** How often each row of a retractable input is in the relation, by row id; null where each counts once. */
  private[engine] def multiplicities(relation: Int): PagedLongs

  /** How often a row of a retractable input is there for a relation. Where deletes may come before their inserts it can be
    * negative: the row is owed, and absent.
    */
  final def multiplicity(relation: Int, row: Int): Long = multiplicities(relation)(row)

  /** Id of the row of a retractable input with this content, −1 where there is none. */
  final def find(input: Int, words: Array[Long], count: Int): Int = identity(input).find(words, count)

  /** Rows stored, over all inputs. */
  final def rows: Long = rowsOfInputs.sum

  final def rowsOfInputs: IndexedSeq[Long] = block.inputs.indices.map(arena(_).live.toLong)

  /** Distinct keys, over all edges. */
  def keys: Long

  /** Alive tuples of nodes that have children and are part of a result. */
  def liveTuples: Long

  /** Heap held. */
  def bytes: Long
}
