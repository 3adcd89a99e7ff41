package org.apache.spark.sql.joinless

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, XXH64}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamingQueryWrapper}
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, SparkSession, classic}

/** DataFrames of own plans, and checkpoints of running queries. `Dataset.ofRows`, `queryExecution`,
  * the execution of a query and the list of running ones are private to Spark.
  */
object Plans {

  def analyzed(df: DataFrame): LogicalPlan = df.asInstanceOf[classic.Dataset[_]].queryExecution.analyzed

  /** The plan after Spark's optimizer: data sources have been offered what stands above them. */
  def optimized(df: DataFrame): LogicalPlan = df.asInstanceOf[classic.Dataset[_]].queryExecution.optimizedPlan

  /** All rows, with values as Spark has them: dates and times of Java are not exact before 1582. */
  def rows(df: DataFrame): Seq[InternalRow] =
    df.asInstanceOf[classic.Dataset[_]].queryExecution.toRdd.map(_.copy()).collect().toSeq

  /** A digest of the rows of a plan, whatever their order: their number, and the sum of a hash of
    * each.
    */
  def digest(session: SparkSession, plan: LogicalPlan): String = {
    val rows = classic.Dataset.ofRows(classicOf(session), plan).queryExecution.toRdd
    val types = plan.schema.map(_.dataType).toArray
    val (number, sum) = rows.mapPartitions { part =>
      val words = UnsafeProjection.create(types)
      val hashes = part.map { row =>
        val bytes = words(row)
        XXH64.hashUnsafeBytes(bytes.getBaseObject, bytes.getBaseOffset, bytes.getSizeInBytes, 42L)
      }
      Iterator.single(hashes.foldLeft((0L, 0L)) { case ((n, total), hash) => (n + 1, total + hash) })
    }.collect().foldLeft((0L, 0L)) { case ((n, total), (m, more)) => (n + m, total + more) }
    f"$number rows $sum%016x"
  }

  /** A DataFrame of `plan` in the session of `df`. */
  def dataFrame(df: DataFrame, plan: LogicalPlan): DataFrame = dataFrame(df.sparkSession, plan)

  /** A DataFrame of `plan` in a session. */
  def dataFrame(session: SparkSession, plan: LogicalPlan): DataFrame =
    classic.Dataset.ofRows(classicOf(session), plan)

  /** The running queries of all sessions of this application. */
  def active: Seq[StreamingQuery] = {
    val session = classic.SparkSession.getActiveSession.orElse(classic.SparkSession.getDefaultSession)
    session.toSeq.flatMap(_.sharedState.activeStreamingQueries.values.asScala).sortBy(_.id)
  }

  /** The checkpoint folder of a query. */
  def checkpoint(query: StreamingQuery): String = execution(query).resolvedCheckpointRoot

  /** The running query of this id, and its plan. */
  def running(id: String): Option[(StreamingQuery, LogicalPlan)] =
    active.find(_.id.toString == id).map(query => query -> execution(query).analyzedPlan)

  /** The time when the running query of this id planned a batch, in milliseconds since 1970: the
    * same if the batch runs again, another one if it is planned again with the same number. None if
    * no such query runs.
    */
  def plannedAt(query: String, batch: Long): Option[Long] = active.find(_.id.toString == query)
    .flatMap(execution(_).offsetLog.get(batch))
    .flatMap(CheckpointReaders.metadata)
    .map(_.batchTimestampMs)

  /** The execution of a query that runs in this application. */
  private def execution(query: StreamingQuery): StreamExecution = query match {
    case wrapper: StreamingQueryWrapper => wrapper.streamingQuery
    case execution: StreamExecution => execution
    case other => throw new IllegalArgumentException(s"not a classic streaming query: $other")
  }
}
