package io.joinless.spark.exec.operator

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.state.times.RowLifetimes
import org.apache.spark.sql.joinless.StatefulCells

/** A stateful operator whose output event times lag behind its watermark: operators above see a
  * watermark that is lower by this lag. Where rows expire, results are deleted with them, and
  * nothing lags.
  */
private[exec] trait LaggingCells extends StatefulCells {

  /** Microseconds. */
  def lag: Long

  final override def produceOutputWatermark(inputWatermarkMs: Long): Option[Long] =
    Some(inputWatermarkMs - RowLifetimes.ceilMillis(lag))

  final override protected def unloadable: (Int, Throwable) => Throwable = {
    val (operator, batch) = (getStateInfo.operatorId, getStateInfo.storeVersion - 1)
    (cell, cause) => JoinlessErrors.stateNotLoaded(operator, cell, batch, cause)
  }
}
