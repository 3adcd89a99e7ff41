package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.expressions.{Expression, SortOrder}

/** Spark's window functions over columns by their positions.
  *
  * @param partition columns in which rows of a partition are equal, by position
  * @param order of the rows in a partition
  */
final case class WindowFunctions(functions: Seq[Expression], partition: Seq[Int], order: Seq[SortOrder])
