package io.joinless.engine.view

import scala.collection.immutable.BitSet
import scala.collection.mutable.{ArrayBuffer, HashMap}

import io.joinless.engine.tuples.{KeyField, KeyIndex, KeyReader, ProjectedField, RowProjection, TupleArena}

/** The keys on which the nodes of a block's trees join: builds their indexes, and reads them from
  * rows.
  */
final private[engine] class EdgeKeys(block: BlockDef, arenas: Array[TupleArena]) {

  private[this] val keyArenas = new ArrayBuffer[TupleArena]
  private[this] val indexes = new ArrayBuffer[KeyIndex]
  private[this] val indexOf = new HashMap[(Int, IndexedSeq[KeyField], IndexedSeq[Boolean]), KeyIndex]

  /** A reader of a relation's key on some of its attributes. */
  def reader(relation: Int, attributes: BitSet): KeyReader = {
    val definition = block.relations(relation)
    new KeyReader(
      arenas(definition.input),
      block.inputs(definition.input).fields,
      EdgeKeys.fields(block, relation, attributes).toArray,
      block.nullSafe(attributes)
    )
  }

  /** A projection of a relation's rows to some fields, as rows of their own. */
  def projection(relation: Int, fields: IndexedSeq[ProjectedField]): RowProjection = {
    val input = block.relations(relation).input
    new RowProjection(arenas(input), block.inputs(input).fields, fields.toArray)
  }

  /** An index of keys on some attributes which these relations read from their rows, for an edge of
    * the tree.
    *
    * Edges share an index if their keys are read from the same columns of an input, for example
    * those of a path over one stream. Then a value is looked up in one index and stored once,
    * however many edges use it. If the columns of several relations have an index already, this
    * edge uses that of the first one; the others keep theirs.
    */
  def shared(attributes: BitSet, relations: Seq[Int]): KeyIndex = {
    val columns = relations.map { r =>
      (
        block.relations(r).input,
        EdgeKeys.fields(block, r, attributes),
        block.nullSafe(attributes).toIndexedSeq
      )
    }
    val index = columns.collectFirst(Function.unlift(indexOf.get(_))).getOrElse(this.index(attributes))
    for (ofRelation <- columns) { val _ = indexOf.getOrElseUpdate(ofRelation, index) }
    index
  }

  /** A new index of keys on some attributes. */
  def index(attributes: BitSet): KeyIndex =
    index(KeyReader.keyWords(attributes.toArray.map(block.isVariable), block.nullSafe(attributes)))

  /** A new index of keys of so many words; 0 if they vary in length. */
  def index(words: Int): KeyIndex = {
    val arena = new TupleArena(words)
    val index = new KeyIndex(arena, words, counted = block.removable)
    keyArenas += arena
    indexes += index
    index
  }

  /** Heap held by the indexes and their keys. */
  def bytes: Long = keyArenas.iterator.map(_.bytes).sum + indexes.iterator.map(_.bytes).sum

  /** Distinct keys, over all indexes. */
  def size: Long = indexes.iterator.map(_.size.toLong).sum
}

private[engine] object EdgeKeys {

  /** The fields of a relation for some of its attributes, in their order. */
  def fields(block: BlockDef, relation: Int, attributes: BitSet): IndexedSeq[KeyField] =
    attributes.toIndexedSeq.map(field(block, relation, _))

  /** The field of a relation that holds one of its attributes. */
  def field(block: BlockDef, relation: Int, attribute: Int): KeyField =
    block.relations(relation).keys.collectFirst { case (`attribute`, f) => f }
      .getOrElse(throw new IllegalArgumentException(s"relation $relation has no attribute $attribute"))
}
