package io.joinless.spark.exec.rows

import io.joinless.spark.spec.ColumnSpec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, ToPrettyString, UnsafeRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.unsafe.Platform

/** A stored row as text for users: `id=7, name=Ann`, values as Spark shows them, long ones cut
  * short.
  */
object RowText {
  final private val Longest = 200

  /** The text of a row, given by its words. */
  def apply(columns: IndexedSeq[ColumnSpec], words: Array[Long]): String = {
    val row = new UnsafeRow(columns.size)
    row.pointTo(words, Platform.LONG_ARRAY_OFFSET, 8 * words.length)
    apply(columns, row)
  }

  /** The text of a row. */
  def apply(columns: IndexedSeq[ColumnSpec], row: InternalRow): String =
    columns.indices.map { i =>
      val value = ToPrettyString(
        BoundReference(i, columns(i).dataType, nullable = true),
        Some(SQLConf.get.sessionLocalTimeZone)
      ).eval(row).toString
      s"${columns(i).name}=${if (value.length > Longest) value.take(Longest) + "…" else value}"
    }.mkString(", ")
}
