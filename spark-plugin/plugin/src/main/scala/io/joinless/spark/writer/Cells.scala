package io.joinless.spark.writer

import org.apache.spark.sql.Column
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.functions._
import org.apache.spark.sql.types.{ArrayType, DataType, DoubleType, FloatType, StructType}

/** The values of a row by position, as columns `c0`, `c1`, ...: names of the user's may be those of
  * columns of this package.
  *
  * Rows are equal if all their values are, as SQL compares them, except that −0.0 is not 0.0: a
  * deleted row is the row that was inserted. Spark's grouping and its `<=>` treat both zeros as one
  * value and return either. So rows are grouped and compared by the texts of their floating-point
  * columns as well. NaN is one value.
  */
private[writer] object Cells {

  def names(columns: Int, prefix: String = ""): Seq[String] = (0 until columns).map(i => s"${prefix}c$i")

  /** A whole row as JSON, by the names of the target. */
  def row(columns: Seq[String], prefix: String = ""): Column =
    Refusals.json(struct(names(columns.size, prefix).zip(columns).map { case (cell, name) => col(cell).as(name) }: _*))

  /** SQL that tests whether two values of a type are the same. */
  def same(one: String, other: String, dataType: DataType): String = {
    val equal = s"$one <=> $other"
    if (hasZeros(dataType)) s"$equal AND CAST($one AS STRING) <=> CAST($other AS STRING)" else equal
  }

  /** SQL that tests whether a row of the target `t` is the one in the cells. */
  def matches(columns: Seq[(String, DataType)], prefix: String): String =
    columns.zip(names(columns.size, prefix)).map { case ((name, dataType), cell) =>
      same(s"t.${quoteIdentifier(name)}", cell, dataType)
    }.mkString(" AND ")

  /** Whether values of a type can be equal and yet differ. */
  def hasZeros(dataType: DataType): Boolean = dataType match {
    case struct: StructType => struct.exists(field => hasZeros(field.dataType))
    case array: ArrayType => hasZeros(array.elementType)
    case other => other == FloatType || other == DoubleType
  }
}
