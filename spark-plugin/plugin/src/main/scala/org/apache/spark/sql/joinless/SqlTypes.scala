package org.apache.spark.sql.joinless

import org.apache.spark.sql.types.DataType

/** Types of columns. `asNullable` and `existsRecursively` are private to Spark. */
object SqlTypes {

  /** The type with all that is in it nullable. */
  def nullable(dataType: DataType): DataType = dataType.asNullable

  /** Whether the type is such a one, or one that is in it. */
  def contains(dataType: DataType)(such: DataType => Boolean): Boolean = dataType.existsRecursively(such)
}
