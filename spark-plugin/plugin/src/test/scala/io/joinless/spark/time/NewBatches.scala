package io.joinless.spark.time

import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}

/** The batches of a query that a test has not seen yet. The query may be restarted. */
final private[time] class NewBatches {
  private[this] var seen = -1L

  /** The number of the last batch that was seen. */
  def last: Long = seen

  /** Another run of the query, whose reports begin anew. */
  def begin(): Unit = seen = -1L

  /** Calls `f` with each of them; reports that Spark repeats while a query is idle are skipped. */
  def foreach(running: StreamingQuery)(f: StreamingQueryProgress => Unit): Unit =
    for (progress <- running.recentProgress if progress.batchId > seen && progress.durationMs.containsKey("addBatch")) {
      seen = progress.batchId
      f(progress)
    }
}
