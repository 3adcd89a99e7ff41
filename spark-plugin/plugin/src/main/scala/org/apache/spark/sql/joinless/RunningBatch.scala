package org.apache.spark.sql.joinless

import java.util.UUID

import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.QueryPlanningTracker
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, MicroBatchExecution, StreamExecution}

/** The micro-batch that a thread plans.
  *
  * A stream plans on a thread of its own, whose local properties name query and batch;
  * `SharedState` leads from there to the running `IncrementalExecution`.
  *
  * Private to Spark and used here: `SharedState.activeStreamingQueries`,
  * `StreamExecution.lastExecution` and `analyzedPlan`, and
  * `IncrementalExecution.nextStatefulOperationStateInfo`, which is private in Scala and public in
  * the class file because an inner object calls it. [[SparkMembers]]
  * probes it.
  */
final class RunningBatch private (
    private[joinless] val execution: IncrementalExecution,
    private[joinless] val query: StreamExecution
) {

  def run: UUID = execution.runId

  def batch: Long = execution.currentBatchId

  /** Whether the batch has been planned. Spark 4.1 plans it once more, on the same thread, for the
    * text that its page of SQL queries shows.
    */
  def isPlanned: Boolean = execution.tracker.phases.contains(QueryPlanningTracker.PLANNING)

  /** The query as it was started, with its streams. */
  def analyzed: LogicalPlan = query.analyzedPlan

  /** The folder of all operators' state. */
  def state: Path = new Path(execution.checkpointLocation)

  /** Whether the query is in update mode. */
  def updates: Boolean = execution.outputMode == OutputMode.Update()

  def checkpoint: String = state.getParent.toString

  /** Draws the state info of the next stateful operator from the batch's own counter. */
  def nextStateInfo(): StatefulOperatorStateInfo =
    RunningBatch.NextStateInfo.invoke(execution).asInstanceOf[StatefulOperatorStateInfo]
}

object RunningBatch {

  private[joinless] lazy val NextStateInfo = classOf[IncrementalExecution].getMethods
    .find(_.getName.endsWith("nextStatefulOperationStateInfo"))
    .getOrElse(throw new NoSuchMethodException("IncrementalExecution.nextStatefulOperationStateInfo"))

  /** The batch that is being planned on this thread, if there is one. */
  def of(session: SparkSession): Option[RunningBatch] = {
    val context = session.sparkContext
    for {
      id <- Option(context.getLocalProperty(StreamExecution.QUERY_ID_KEY))
      query <- Option(shared(session).activeStreamingQueries.get(UUID.fromString(id)))
      batch <- Option(query.lastExecution)
      if batch.runId == query.runId &&
        batch.currentBatchId.toString == context.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY)
    } yield new RunningBatch(batch, query)
  }

  /** The runs of all queries that are active in the application. */
  def activeRuns(session: SparkSession): Set[UUID] =
    shared(session).activeStreamingQueries.values.asScala.map(_.runId).toSet

  /** The state that all sessions of the application have in common. */
  private def shared(session: SparkSession) = classicOf(session).sharedState
}
