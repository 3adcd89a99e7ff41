package io.joinless.engine.view

import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena, TupleKeys}

/** The rows of a join block's inputs, each stored once, with their multiplicity in each relation:
  * the part of a block's state that all kinds of state have in common.
  */
trait RowStore {

  /** The inputs and relations of which these are the rows. */
  def block: BlockDef

  def counters: Counters

  /** The arena of an input's rows. It may hold other rows, whose counts are 0 in all of its
    * relations.
    */
  def arena(input: Int): TupleArena

  /** Row → row id of a retractable input; null for an append-only one. */
  private[engine] def identity(input: Int): KeyIndex

  /** The multiplicity of each row of a retractable input in the relation, by row id; null if each
    * counts once.
    */
  private[engine] def multiplicities(relation: Int): PagedLongs

  /** The multiplicity of a retractable input's row in a relation. If deletes may arrive before
    * their inserts it can be negative; the row is then absent.
    */
  final def multiplicity(relation: Int, row: Int): Long = multiplicities(relation)(row)

  /** Whether a row of a retractable input is in some relation, or has a negative multiplicity
    * there.
    */
  final def isThere(input: Int, row: Int): Boolean = {
    val relations = block.relationsOf(input)
    var i = 0
    while (i < relations.length) { if (multiplicity(relations(i), row) != 0L) return true; i += 1 }
    false
  }

  /** The id of the present row of a retractable input with this content, −1 if there is none. */
  final def find(input: Int, words: Array[Long], count: Int): Int = {
    val row = identity(input).find(words, count)
    if (row >= 0 && isThere(input, row)) row else -1
  }

  /** The memoized keys of an input's rows, which must be forgotten with the rows. */
  private[engine] def keysOfRows(input: Int): Array[TupleKeys]

  /** Whether the arena of an input also holds keys that are none of its rows. */
  private[engine] def hasOtherKeys(input: Int): Boolean = false

  /** The number of stored rows, over all inputs. */
  final def rows: Long = rowsOfInputs.sum

  /** The number of stored rows of each input. */
  final def rowsOfInputs: IndexedSeq[Long] = block.inputs.indices.map(rowsOf)

  /** The number of stored rows of an input. */
  def rowsOf(input: Int): Long = arena(input).live.toLong

  /** The number of distinct keys, over all edges. */
  def keys: Long

  /** The number of alive tuples, of nodes with children, that are part of a result. */
  def liveTuples: Long

  /** Heap held, in bytes. */
  def bytes: Long
}
