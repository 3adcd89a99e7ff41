package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.types.{BinaryView, TimestampNanosVal}

/** A row that is only read and whose columns lie in other rows. Here are the methods that rows of
  * Spark 4.3 have beside those of all versions.
  */
abstract class BorrowedRow extends InternalRow {

  /** The row in which column `i` lies. */
  protected def row(i: Int): UnsafeRow

  /** The position of column `i` there. */
  protected def ordinal(i: Int): Int

  override def getBinaryView(i: Int): BinaryView = row(i).getBinaryView(ordinal(i))
  override def getTimestampLTZNanos(i: Int): TimestampNanosVal = row(i).getTimestampLTZNanos(ordinal(i))
  override def getTimestampNTZNanos(i: Int): TimestampNanosVal = row(i).getTimestampNTZNanos(ordinal(i))
}
