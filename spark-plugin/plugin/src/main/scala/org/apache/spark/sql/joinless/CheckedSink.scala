package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink
import org.apache.spark.sql.{DataFrame, Row, classic}

/** The sink of a `foreachBatch`, with a check of each batch after the user's function, before Spark
  * marks the batch as done.
  *
  * Spark knows a sink that runs user code by its class, `ForeachBatchSink`, which is internal to
  * it.
  *
  * @param check is called with the batch and the plan that was executed
  */
final class CheckedSink private (users: Sink, check: (Long, SparkPlan) => Unit)
    extends ForeachBatchSink[Row]((_, _) => (), null) {

  override def addBatch(batch: Long, data: DataFrame): Unit = {
    users.addBatch(batch, data)
    check(batch, data.asInstanceOf[classic.Dataset[_]].queryExecution.executedPlan)
  }

  override def toString: String = users.toString
}

object CheckedSink {

  /** The write with the check after its function; the same if it is no `foreachBatch`, or has a
    * check.
    */
  def around(write: WriteToStream, check: (Long, SparkPlan) => Unit): WriteToStream = write.sink match {
    case _: CheckedSink => write
    case sink: ForeachBatchSink[_] => write.copy(sink = new CheckedSink(sink, check))
    case _ => write
  }
}
