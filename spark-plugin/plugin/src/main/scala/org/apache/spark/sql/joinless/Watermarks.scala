package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.{Expression, Or}
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution

/** The watermarks of an operator in a batch. They are known once the batch's plan is prepared, so a
  * plan has this handle and reads them when it executes, on the driver.
  *
  * Private to Spark and used here: `IncrementalExecution.watermarkPropagator`, which gives its own
  * operators their watermarks by a rule that knows no others; and its `WatermarkSupport`.
  */
final class Watermarks private (@transient private val batch: IncrementalExecution, operator: Option[Long])
    extends Serializable {

  /** The watermark up to which rows of this batch are late. Milliseconds; 0 if nothing is late yet.
    */
  def lateMs: Long = operator.fold(batch.prevOffsetSeqMetadata.getOrElse(batch.offsetSeqMetadata).batchWatermarkMs)(
    batch.watermarkPropagator.getInputWatermarkForLateEvents(batch.currentBatchId, _)
  )

  /** The watermark up to which rows of later batches are late, so state up to it may be evicted at
    * the end of this one. Never below `lateMs`.
    */
  def evictionMs: Long = operator.fold(batch.offsetSeqMetadata.batchWatermarkMs)(
    batch.watermarkPropagator.getInputWatermarkForEviction(batch.currentBatchId, _)
  )

  override def toString: String = s"watermarks of ${operator.fold("the query")(number => s"operator $number")}"
}

object Watermarks {

  /** The watermarks of a stateful operator. */
  def of(batch: RunningBatch, info: StateInfo): Watermarks = new Watermarks(batch.execution, Some(info.operatorId))

  /** The watermarks of the query's streams. An operator's can be lower: if results may have older
    * times, it waits for them.
    */
  def ofStreams(batch: RunningBatch): Watermarks = new Watermarks(batch.execution, None)

  /** The condition on late rows, by Spark's own rule: one of their times is not after the
    * watermark. A window is compared by its end.
    */
  def condition(times: Seq[Expression], watermarkMs: Long): Option[Expression] =
    times.flatMap(time => WatermarkSupport.watermarkExpression(Some(time), Some(watermarkMs))).reduceOption(Or(_, _))
}
