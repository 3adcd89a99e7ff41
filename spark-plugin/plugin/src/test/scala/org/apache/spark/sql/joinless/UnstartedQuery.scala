package org.apache.spark.sql.joinless

import org.apache.spark.sql.{DataFrame, Row, classic}
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.Sink
import org.apache.spark.sql.execution.streaming.checkpointing.{CommitMetadata, OffsetSeq, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.execution.streaming.runtime.{
  IncrementalExecution,
  MicroBatchExecution,
  StreamExecution,
  WatermarkPropagator,
  WatermarkTracker
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{OutputMode, StateOperatorProgress, Trigger}
import org.apache.spark.util.SystemClock

/** A run of a streaming query that is never started: the calling thread runs its batches, with rows
  * that it gives.
  *
  * What defines a batch is Spark's: the query is analyzed as `start()` does it, a batch is planned
  * by `IncrementalExecution`, its watermarks are those that `WatermarkTracker` has after the batch
  * before, propagated through the plan, and the stateful operators say whether one without rows
  * follows. The checkpoint has the logs of offsets (without those of sources) and of commits, from
  * which another run continues. Missing is what surrounds batches: the query's thread, its sources,
  * its sink, its reports.
  */
final class UnstartedQuery private (session: classic.SparkSession, write: WriteToStream)
    extends MicroBatchExecution(session, Trigger.ProcessingTime(0), new SystemClock, Map.empty, write) {

  private[this] val own = sparkSessionForStream // with the settings of this run
  private[this] val context = session.sparkContext
  private[this] val propagator = WatermarkPropagator(own.sessionState.conf)
  private[this] var execution: IncrementalExecution = null

  // As Spark does it for each run (StreamExecution.runStream,
  // MicroBatchExecution.populateStartOffsets)
  own.conf.set(SQLConf.CBO_ENABLED.key, "false")
  own.conf.set(SQLConf.REQUIRE_ALL_CLUSTER_KEYS_FOR_DISTRIBUTION.key, "false")
  own.conf.set(SQLConf.ADAPTIVE_EXECUTION_ENABLED.key, "false")
  own.conf.set(SQLConf.STATEFUL_SHUFFLE_PARTITIONS_INTERNAL.key, own.conf.get(SQLConf.SHUFFLE_PARTITIONS.key))
  private[this] val last = commitLog.getLatest()
  private[this] var previous = last.flatMap { case (batch, _) => offsetLog.offsetSeqMetadataForBatchId(batch) }
  previous.foreach(OffsetSeqMetadata.setSessionConf(_, own.sessionState.conf))
  private[this] val settings = OffsetSeqMetadata(0, 0, own.conf).conf
  private[this] val tracker = WatermarkTracker(own.conf, write.inputQuery)
  for ((before, (_, committed)) <- previous.zip(last))
    tracker.setWatermark(math.max(before.batchWatermarkMs, committed.nextBatchWatermarkMs))
  private[this] var next = last.fold(0L)(_._1 + 1)
  own.sharedState.activeStreamingQueries.put(id, this)

  override def lastExecution: IncrementalExecution = execution

  /** The query as it runs: compiled, with its streams. */
  def query: LogicalPlan = write.inputQuery

  /** Whether a batch without rows follows the last one of this run: it would emit rows, or evict
    * state.
    */
  def goesOn: Boolean = execution != null && execution.shouldRunAnotherBatch(metadata)

  /** Runs the next batch.
    *
    * @param plan the query over the rows of the batch
    * @param readTwice the rows are computed twice, as if the sink had read them twice
    */
  def run(plan: LogicalPlan, readTwice: Boolean): UnstartedQuery.Batch = {
    val (batch, now) = (next, metadata)
    assert(offsetLog.add(batch, OffsetSeq(Nil, Some(now))))
    val isFirst = execution == null
    val before = Seq(StreamExecution.QUERY_ID_KEY, MicroBatchExecution.BATCH_ID_KEY).map(key =>
      key -> context.getLocalProperty(key)
    )
    context.setLocalProperty(StreamExecution.QUERY_ID_KEY, id.toString)
    context.setLocalProperty(MicroBatchExecution.BATCH_ID_KEY, batch.toString)
    try own.withActive {
        val state = checkpointFile("state")
        execution =
          new IncrementalExecution(own, plan, outputMode, state, id, runId, batch, previous, now, propagator, isFirst)
        val executed = execution.executedPlan
        val rows = execution.toRdd.map(_.copy())
        if (readTwice) { val _ = rows.count() }
        val toRow = CatalystTypeConverters.createToScalaConverter(execution.analyzed.schema)
        val emitted = rows.collect().toSeq.map(row => toRow(row).asInstanceOf[Row])
        tracker.updateWatermark(executed)
        assert(commitLog.add(batch, CommitMetadata(tracker.currentWatermark)))
        propagator.purge(batch - 2)
        previous = Some(now)
        next += 1
        val operators = executed.collect { case operator: StateStoreWriter => operator.getProgress() }
        UnstartedQuery.Batch(batch, now.batchWatermarkMs, emitted, operators, executed)
      }
    finally before.foreach { case (key, value) => context.setLocalProperty(key, value) }
  }

  /** Ends the run: its stores are closed, and its caches can be dropped. */
  def close(): Unit = {
    stop()
    own.sharedState.activeStreamingQueries.remove(id, this)
    session.streams.stateStoreCoordinator.deactivateInstances(runId)
  }

  private def metadata: OffsetSeqMetadata =
    OffsetSeqMetadata(tracker.currentWatermark, triggerClock.getTimeMillis(), settings)
}

object UnstartedQuery {

  /** @param watermarkMs the watermark of the batch, which the ones before it have determined
    * @param operators the reports of its stateful operators, in no order
    */
  final case class Batch(
      number: Long,
      watermarkMs: Long,
      rows: Seq[Row],
      operators: Seq[StateOperatorProgress],
      executed: SparkPlan
  )

  /** The sink of a query that has none. */
  private object NoSink extends Sink {
    override def addBatch(batch: Long, data: DataFrame): Unit = ()
  }

  /** A run of a query, new or on the checkpoint of an earlier one. Errors are those of `start()`.
    */
  def apply(query: DataFrame, checkpoint: String, mode: OutputMode): UnstartedQuery = {
    val session = classicOf(query.sparkSession)
    val statement = QueryParts.statement(session, checkpoint, NoSink, mode, Plans.analyzed(query))
    new UnstartedQuery(
      session,
      session.sessionState.executePlan(statement).analyzed.asInstanceOf[WriteToStream]
    )
  }
}
