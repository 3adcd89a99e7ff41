package io.joinless.spark.views

import org.apache.spark.sql.streaming.StreamingQuery

/** What a running view holds, by the report of its last batch.
  *
  * @param storedRows rows of joins, each once per cell
  * @param memoryBytes of view trees and state stores
  * @param rowsLate rows that were dropped as late in all batches that Spark remembers
  */
final private[views] case class Figures(storedRows: Long, memoryBytes: Long, rowsLate: Long, advice: Seq[String])

private[views] object Figures {

  /** None before the first batch, and if no operator of ours runs. */
  def of(query: StreamingQuery): Option[Figures] = {
    val recent = query.recentProgress.toSeq
    val batches = Reports.ofBatches(recent)
    // idle for so long that Spark has forgotten the batch
    batches.lastOption.orElse(recent.lastOption).filter(Reports.ours(_).nonEmpty).map { last =>
      Figures(
        Reports.joins(last).map(Reports.figure(_, "storedRows")).sum,
        Reports.ours(last).map(_.memoryUsedBytes).sum,
        batches.map(Reports.late).sum,
        Advice(recent)
      )
    }
  }
}
