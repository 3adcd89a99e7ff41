package io.joinless.spark.spec

import org.apache.spark.sql.types.DataType

/** Layout of the rows of one input: an `UnsafeRow` of these columns, each nullable. */
final case class InputSpec(columns: IndexedSeq[ColumnSpec], kind: InputKind) {

  /** Its rows have an identity, and are counted. */
  def retractable: Boolean = kind.retractable
}

final case class ColumnSpec(name: String, dataType: DataType)

/** Stored column `ordinal` of the row bound to `relation`. */
final case class ColumnRef(relation: Int, ordinal: Int)
