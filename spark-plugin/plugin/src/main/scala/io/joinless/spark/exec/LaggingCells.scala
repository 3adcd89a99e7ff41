package io.joinless.spark.exec

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.state.RowLifetimes
import org.apache.spark.sql.joinless.StatefulCells

/** A stateful operator of whose rows event times lag behind its watermark: what stands above sees one that is as much lower. Where rows expire,
  * results go with them, and nothing lags.
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
