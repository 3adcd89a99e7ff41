package org.apache.spark.sql.joinless

import scala.util.Try

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.runtime.StreamingCheckpointConstants

/** The folders that Spark keeps in a checkpoint, and the batches that their logs hold. Nothing is
  * written.
  *
  * The names are internal to Spark.
  */
final class CheckpointFolder(session: SparkSession, checkpoint: Path) {
  private val files = new CheckpointFiles(session, checkpoint)

  /** The folder of all operators' state. */
  val state: Path = new Path(checkpoint, StreamingCheckpointConstants.DIR_NAME_STATE)

  /** The last batch that was begun. */
  def begun: Option[Long] = last(StreamingCheckpointConstants.DIR_NAME_OFFSETS)

  /** The last batch that was committed. */
  def committed: Option[Long] = last(StreamingCheckpointConstants.DIR_NAME_COMMITS)

  /** The sources that keep a log of their own, by number: each that lists files has one. */
  def sources: Set[Int] = files.names(new Path(checkpoint, "sources")).flatMap(_.toIntOption).toSet

  /** The greatest number of a batch in a log; None if it has none. */
  private def last(log: String): Option[Long] =
    files.names(new Path(checkpoint, log)).flatMap(name => Try(name.toLong).toOption).maxOption
}
