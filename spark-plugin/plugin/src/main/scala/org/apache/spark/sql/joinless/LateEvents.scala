package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.execution.streaming.operators.stateful.WatermarkSupport
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution

/** The watermark below which rows are late for an operator of a batch. It is known once the batch's plan is prepared, so
  * a plan carries this handle and asks when it executes, on the driver.
  *
  * Private to Spark and used here: `IncrementalExecution.watermarkPropagator`, which hands its own operators their
  * watermarks by a rule that knows no others; and its `WatermarkSupport`. Checked on 4.2.0.
  */
final class LateEvents private (@transient private val batch: IncrementalExecution, operator: Long)
    extends Serializable {

  /** Milliseconds; 0 where nothing is late yet. */
  def watermarkMs: Long = batch.watermarkPropagator.getInputWatermarkForLateEvents(batch.currentBatchId, operator)

  override def toString: String = s"late events of operator $operator"
}

object LateEvents {

  def of(batch: RunningBatch, info: StateInfo): LateEvents = new LateEvents(batch.execution, info.operatorId)

  /** The condition on late rows over a scan's columns, by Spark's own rule, where it has an event-time column. */
  def condition(scan: Seq[Attribute], watermarkMs: Long, severalEventTimes: Boolean): Option[Expression] =
    WatermarkSupport.watermarkExpression(
      WatermarkSupport.findEventTimeColumn(scan, allowMultipleEventTimeColumns = severalEventTimes),
      Some(watermarkMs)
    )
}
