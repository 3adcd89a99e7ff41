package io.joinless.spark.exec

import io.joinless.spark.state.CachedTree
import org.apache.spark.sql.catalyst.InternalRow

/** One batch in one cell: an iterator over its output, which commits when all of it was handed out. */
private[exec] trait BatchTask extends Iterator[InternalRow] {

  /** Ends a task that was not drained (a limit above had enough): the tree as it was at the start. None where a thread other than
    * the caller's has drawn from the iterator and may still do so.
    */
  def takeBack(): Option[CachedTree]
}
