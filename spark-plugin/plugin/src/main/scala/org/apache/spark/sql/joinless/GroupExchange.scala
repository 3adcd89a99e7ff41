package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.physical.{HashPartitioning, SinglePartition}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeExec}

/** The exchange of a stateful GROUP BY: rows of a group are sent to one partition, the same one in
  * all batches.
  *
  * Constructors of the exchange change between Spark versions.
  */
object GroupExchange {

  /** The rows, exchanged by group.
    *
    * @param by the grouping columns; all rows are sent to one partition if there are none
    */
  def apply(rows: SparkPlan, by: Seq[Expression], partitions: Int): SparkPlan =
    ShuffleExchangeExec(
      if (by.isEmpty) SinglePartition else HashPartitioning(by, partitions),
      rows,
      ENSURE_REQUIREMENTS
    )
}
