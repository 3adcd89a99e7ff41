package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder
import org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink
import org.apache.spark.sql.{DataFrame, Row}

/** The sink of a format that applies each batch by a function.
  *
  * Spark knows a sink that runs such a function by its class, `ForeachBatchSink`, which is internal
  * to it and gets the batch's columns when it is created. Here they are known with the first batch.
  *
  * @param description of the sink, in plans
  * @param write a batch, and its number
  */
final private[joinless] class ViewSink(description: String, write: (DataFrame, Long) => Unit)
    extends ForeachBatchSink[Row]((_, _) => (), null) {

  override def addBatch(batch: Long, data: DataFrame): Unit =
    new ForeachBatchSink[Row]((rows, number) => write(rows.toDF(), number), ExpressionEncoder(data.schema))
      .addBatch(batch, data)

  override def toString: String = description
}
