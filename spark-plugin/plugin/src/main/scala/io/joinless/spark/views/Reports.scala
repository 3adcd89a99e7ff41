package io.joinless.spark.views

import java.time.Instant

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StateOperatorProgress, StreamingQueryProgress}

/** Figures of our operators in Spark's reports of batches: joins, and groups that keep state. */
private[views] object Reports {

  /** The reports of batches. While a query is idle, Spark repeats the last batch's figures under the
    * next number; such reports are skipped.
    */
  def ofBatches(recent: Seq[StreamingQueryProgress]): Seq[StreamingQueryProgress] =
    recent.filter(_.durationMs.containsKey("addBatch"))

  def joins(batch: StreamingQueryProgress): Seq[StateOperatorProgress] = having(batch, "propagationSteps")

  def groups(batch: StreamingQueryProgress): Seq[StateOperatorProgress] = having(batch, "groupsTouched")

  def ours(batch: StreamingQueryProgress): Seq[StateOperatorProgress] = joins(batch) ++ groups(batch)

  private def having(batch: StreamingQueryProgress, metric: String): Seq[StateOperatorProgress] =
    batch.stateOperators.toSeq.filter(_.customMetrics.containsKey(metric))

  /** A figure of an operator; 0 if it does not report it. */
  def figure(operator: StateOperatorProgress, metric: String): Long =
    Option(operator.customMetrics.get(metric)).fold(0L)(_.longValue)

  /** Rows that our operators dropped as late. */
  def late(batch: StreamingQueryProgress): Long = ours(batch).map(_.numRowsDroppedByWatermark).sum

  /** How many rows were late, by columns. */
  def lateBy(batches: Seq[StreamingQueryProgress]): Map[String, Long] =
    batches.flatMap(ours).flatMap(ofEach(_, "late.")).groupMapReduce(_._1)(_._2)(_ + _)

  /** Rows that operators of Spark's own dropped as late. */
  def lateForSpark(batch: StreamingQueryProgress): Long =
    batch.stateOperators.map(_.numRowsDroppedByWatermark).sum - late(batch)

  /** Times of results that nothing bounds, where operators above the join drop late rows. */
  def anyAge(batch: StreamingQueryProgress): Seq[String] =
    joins(batch).flatMap(ofEach(_, "anyAge.").keys).distinct.sorted

  /** The rows of each relation of a join. */
  def rowsOf(operator: StateOperatorProgress): Map[String, Long] = ofEach(operator, "rows.")

  /** The watermark at which the next stored row is evicted. */
  def nextEnd(batch: StreamingQueryProgress): Option[Instant] =
    joins(batch).map(figure(_, "nextEnd")).filter(_ != 0).minOption.map(Instant.ofEpochMilli)

  /** A time of a batch, as its report has it. */
  def time(batch: StreamingQueryProgress, name: String): Option[String] = Option(batch.eventTime.get(name))

  /** The figures of one kind, by the name of their subject. */
  private def ofEach(operator: StateOperatorProgress, prefix: String): Map[String, Long] =
    operator.customMetrics.asScala.collect {
      case (name, rows) if name.startsWith(prefix) => name.stripPrefix(prefix) -> rows.longValue
    }.toMap
}
