package io.joinless.spark.checkpoint

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.CheckpointFolder

/** The record of which scans of a query share a source, in its checkpoint's `joinless/sources`.
  *
  * One line of format version 1: `v1`, then for each scan of a stream in the query the number of
  * its source. Without the file every scan has a source of its own.
  */
final class SourcesRecord(session: SparkSession, checkpoint: String) {
  private val file = new SmallFile(session, checkpoint, "sources")
  private val folder = new CheckpointFolder(session, new Path(checkpoint))

  /** Whether a batch was begun: from then on sources are fixed. */
  def hasOffsets: Boolean = folder.begun.isDefined

  /** The sources of the checkpoint that keep a log of their own, by number. */
  def withLog: Set[Int] = folder.sources

  /** The number of the source of each scan; None without a record. An unreadable record is an
    * error.
    */
  def read(): Option[Seq[Int]] = file.read().map { text =>
    text.trim.split(' ').toSeq match {
      case "v1" +: numbers
          if text.length <= SourcesRecord.MaxBytes && numbers.nonEmpty && numbers.forall(
            _.toIntOption.exists(_ >= 0)
          ) =>
        numbers.map(_.toInt)
      case _ => throw JoinlessErrors.stateMismatch(
          Mismatch.Unreadable,
          checkpoint,
          s"The record of its sources, joinless/sources, holds \"${text.take(40).trim}\"."
        )
    }
  }

  /** Writes the record: the number of the source of each scan. */
  def write(numbers: Seq[Int]): Unit = file.write(s"v1 ${numbers.mkString(" ")}\n")

  def delete(): Unit = file.delete()
}

object SourcesRecord {

  /** The greatest size of the file. No query has as many scans. */
  final private val MaxBytes = 1 << 20
}
