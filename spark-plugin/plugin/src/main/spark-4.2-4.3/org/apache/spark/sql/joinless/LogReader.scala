package org.apache.spark.sql.joinless

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.{CommitMetadataBase, OffsetSeqBase}
import org.apache.spark.sql.execution.streaming.runtime.StreamingQueryCheckpointMetadata

/** Reads the logs of a checkpoint, from outside. Nothing is written. */
final private class LogReader(session: SparkSession, checkpoint: Path) {
  private val logs = new StreamingQueryCheckpointMetadata(session, checkpoint.toString, readOnly = true)

  /** Batches whose commit exists, ascending. */
  def batches: Seq[Long] = logs.commitLog.listBatchesOnDisk.toSeq

  /** The id of the query. */
  def query: String = logs.streamMetadata.id

  def offsets(batch: Long): Option[OffsetSeqBase] = logs.offsetLog.get(batch)

  def commit(batch: Long): Option[CommitMetadataBase] = logs.commitLog.get(batch)
}
