package io.joinless.spark.spec

import io.joinless.engine.tuples.{KeyField, RowProjection}
import io.joinless.engine.view.{AttributeDef, BlockDef, InputDef, RelationDef}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.DataType

/** The memory layout of stored rows, derived from the spec alone.
  *
  * A stored row is the bytes of an `UnsafeRow` of its input's columns: null words, one 8-byte word
  * per column, then the data of variable-length columns. `fixedWords` is its length in words where
  * no column varies, else 0.
  */
object RowCodec {

  def nullWords(fields: Int): Int = (fields + 63) / 64

  /** The number of words before any variable-length data: the least size of a row. */
  def leastWords(input: InputSpec): Int = nullWords(input.columns.size) + input.columns.size

  def fixedWords(input: InputSpec): Int =
    if (input.columns.forall(c => UnsafeRow.isFixedLength(c.dataType))) RowProjection.fixedWords(input.columns.size)
    else 0

  /** The projected columns of a relation; none where one of them varies in length, so that rows are
    * read anyway.
    */
  private def projected(spec: BlockCore, relation: Int): IndexedSeq[Int] = {
    val columns = spec.inputs(spec.relations(relation).input).columns
    val projected = spec.output.filter(_.relation == relation).map(_.ordinal).distinct
    if (projected.forall(c => UnsafeRow.isFixedLength(columns(c).dataType))) projected else IndexedSeq.empty
  }

  /** A stored column as a field of which values are compared. */
  def keyField(ordinal: Int, dataType: DataType): KeyField = KeyField(ordinal, !UnsafeRow.isFixedLength(dataType))

  def blockDef(spec: BlockCore): BlockDef = BlockDef(
    inputs = spec.inputs.map(i => InputDef(i.columns.size, fixedWords(i), i.retractable)),
    attributes = spec.attributes.map(a => AttributeDef(a.nullSafe)),
    relations = spec.relations.zipWithIndex.map { case (r, i) =>
      val columns = spec.inputs(r.input).columns
      RelationDef(
        r.input,
        r.keys.map(k => (k.attribute, keyField(k.ordinal, columns(k.ordinal).dataType))),
        projected(spec, i)
      )
    },
    tree = spec.tree,
    forgets = spec.forgets
  )
}
