package org.apache.spark.sql.joinless

import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamingQueryWrapper}
import org.apache.spark.sql.streaming.StreamingQuery

/** Internals of a streaming query that only tests read. */
object RunningQuery {

  def execution(query: StreamingQuery): StreamExecution = query.asInstanceOf[StreamingQueryWrapper].streamingQuery

  /** The executed plan of the last batch. */
  def plan(query: StreamingQuery): SparkPlan = execution(query).lastExecution.executedPlan

  /** The class of the sink the query runs with. */
  def sink(query: StreamingQuery): String = execution(query).sink.getClass.getSimpleName
}
