package io.joinless.spark.state.log

/** The end of a log, where the next batch goes on: the number of the next block, and the last
  * blocks.
  */
final case class LogEnd(nextSequence: Long, tail: LogTail)

object LogEnd {

  /** The end of an empty log. */
  val Empty: LogEnd = LogEnd(0L, LogTail.Empty)
}
