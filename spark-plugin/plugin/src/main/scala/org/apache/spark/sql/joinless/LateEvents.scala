package org.apache.spark.sql.joinless

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution

/** The watermark below which rows are late for an operator of a batch. It is known once the batch's plan is prepared, so
  * a plan carries this handle and asks when it executes, on the driver.
  *
  * Private to Spark and used here: `IncrementalExecution.watermarkPropagator`, which hands its own operators their
  * watermarks by a rule that knows no others. Checked on 4.2.0.
  */
final class LateEvents private (@transient private val batch: IncrementalExecution, operator: Long)
    extends Serializable {

  /** Milliseconds; 0 where nothing is late yet. */
  def watermarkMs: Long = batch.watermarkPropagator.getInputWatermarkForLateEvents(batch.currentBatchId, operator)

  override def toString: String = s"late events of operator $operator"
}

object LateEvents {

  /** For the operator of the batch that is being planned on this thread. */
  def of(session: SparkSession, info: StatefulOperatorStateInfo): Option[LateEvents] =
    StreamContext.current(session).map(new LateEvents(_, info.operatorId))
}
