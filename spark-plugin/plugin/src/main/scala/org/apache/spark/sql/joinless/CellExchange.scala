package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.DirectShufflePartitionID
import org.apache.spark.sql.catalyst.plans.physical.ShufflePartitionIdPassThrough
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.exchange.{ENSURE_REQUIREMENTS, ShuffleExchangeExec}

/** The one exchange of a join block: rows whose first column is their cell are sent to the
  * partition of that number.
  *
  * Constructors of the exchange and of its partitioning change between Spark versions.
  */
object CellExchange {

  /** The rows, exchanged into `cells` partitions. */
  def apply(rows: SparkPlan, cells: Int): SparkPlan =
    ShuffleExchangeExec(
      ShufflePartitionIdPassThrough(DirectShufflePartitionID(rows.output.head), cells),
      rows,
      ENSURE_REQUIREMENTS
    )
}
