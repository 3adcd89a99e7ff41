package io.joinless.spark.plans

import io.joinless.engine.query.JoinTree
import org.apache.spark.sql.types.DataType

/** What was decided for one join block: everything an operator needs, and nothing that changes from batch to batch.
  *
  * Columns are named by position only, never by expression id. The spec is written to the operator metadata at the
  * first batch and read back on restart (architecture D2).
  */
final case class BlockSpec(
    /** Position of the block among all join blocks of the query, in preorder. */
    ordinal: Int,
    /** Layouts of stored rows; relations of equal layout share one. */
    inputs: IndexedSeq[InputSpec],
    /** Classes of equated columns that at least two relations share. */
    attributes: IndexedSeq[AttributeSpec],
    relations: IndexedSeq[RelationSpec],
    tree: JoinTree,
    /** Number of coordinates per attribute; their product is the number of cells. Empty until the strategy chose. */
    shares: IndexedSeq[Int],
    residuals: IndexedSeq[ResidualSpec],
    output: IndexedSeq[ColumnRef]
) {
  def cells: Int = shares.product

  /** Rows can disappear: weights travel with rows, and rows have an identity. */
  def retractable: Boolean = inputs.exists(_.changelog)
}

/** Layout of the rows of one input: an `UnsafeRow` of these columns, each nullable. */
final case class InputSpec(columns: IndexedSeq[ColumnSpec], changelog: Boolean)

final case class ColumnSpec(name: String, dataType: DataType)

/** `nullSafe`: every equation of the class is `<=>`, so NULL is a value; otherwise a NULL never joins. */
final case class AttributeSpec(name: String, dataType: DataType, nullSafe: Boolean)

/** A role of an input. `keys` are in ascending order of attribute; at most one per attribute. */
final case class RelationSpec(name: String, input: Int, keys: IndexedSeq[KeySpec])

/** The attribute's value of a row is the stored column at `ordinal`; equal values are equal bytes there. */
final case class KeySpec(attribute: Int, ordinal: Int)

/** A condition over several relations that is not an equation; its expression refers to `columns` by position. */
final case class ResidualSpec(sql: String, columns: IndexedSeq[ColumnRef])

/** Stored column `ordinal` of the row bound to `relation`. */
final case class ColumnRef(relation: Int, ordinal: Int)
