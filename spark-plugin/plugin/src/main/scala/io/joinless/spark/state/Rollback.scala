package io.joinless.spark.state

import io.joinless.engine.view.RowStore

/** A part of a cell's state that a batch changes in place. */
private[spark] trait Rollback {

  /** Rolls the last batch back; `views` are those from before it. */
  def rollBack(views: RowStore): Unit

  /** Bytes that are kept only to roll the last batch back, and are not of the state. */
  def bytesToRollBack: Long = 0L
}
