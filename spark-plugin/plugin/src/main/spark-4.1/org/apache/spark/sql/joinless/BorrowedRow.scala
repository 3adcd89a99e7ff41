package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.types.{GeographyVal, GeometryVal}

/** A row that is only read and whose columns lie in other rows. Here are the methods that rows of
  * Spark 4.1 have beside those of all versions.
  */
abstract class BorrowedRow extends InternalRow {

  /** The row in which column `i` lies. */
  protected def row(i: Int): UnsafeRow

  /** The position of column `i` there. */
  protected def ordinal(i: Int): Int

  override def getGeography(i: Int): GeographyVal = row(i).getGeography(ordinal(i))
  override def getGeometry(i: Int): GeometryVal = row(i).getGeometry(ordinal(i))
}
