package org.apache.spark.sql.joinless

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.{WriteToStream, WriteToStreamStatement}
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.streaming.{OutputMode, Trigger}

/** Parts of a query that tests make. Their constructors differ between versions of Spark. */
object QueryParts {

  /** The analyzed start of a query. */
  def write(name: String, checkpoint: String, sink: Sink, mode: OutputMode, query: LogicalPlan): WriteToStream =
    WriteToStream(name, None, checkpoint, sink, mode, deleteCheckpointOnStop = false, query, None, None)

  /** The start of a query, before its analysis. */
  def statement(
      session: SparkSession,
      checkpoint: String,
      sink: Sink,
      mode: OutputMode,
      query: LogicalPlan
  ): WriteToStreamStatement =
    WriteToStreamStatement(
      None,
      None,
      Some(checkpoint),
      useTempCheckpointLocation = false,
      recoverFromCheckpointLocation = true,
      sink,
      mode,
      classicOf(session).sessionState.newHadoopConf(),
      Trigger.ProcessingTime(0),
      query
    )
}
