package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.types.BinaryView

/** A row that is only read and whose columns lie in other rows. Here are the methods that rows of
  * Spark 4.2 have beside those of all versions.
  */
abstract class BorrowedRow extends InternalRow {

  /** The row in which column `i` lies. */
  protected def row(i: Int): UnsafeRow

  /** The position of column `i` there. */
  protected def ordinal(i: Int): Int

  override def getBinaryView(i: Int): BinaryView = row(i).getBinaryView(ordinal(i))
}
