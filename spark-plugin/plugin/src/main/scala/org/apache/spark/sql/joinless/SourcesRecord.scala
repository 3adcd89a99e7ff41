package org.apache.spark.sql.joinless

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.StreamingCheckpointConstants

/** Which places of a query share a source, as its checkpoint records it in `joinless/sources`.
  *
  * One line of format version 1: `v1`, then for each place where the query reads a stream the number of its source. Without the
  * file every place has a source of its own. Uses `CheckpointFileManager`, internal to Spark; checked on 4.2.0.
  */
final class SourcesRecord(session: SparkSession, checkpoint: String) {
  private val path = new Path(checkpoint, "joinless/sources")
  private val offsets = new Path(checkpoint, StreamingCheckpointConstants.DIR_NAME_OFFSETS)
  private val files =
    CheckpointFileManager.create(path, session.asInstanceOf[classic.SparkSession].sessionState.newHadoopConf())

  /** Whether a batch was begun: from then on sources are fixed. */
  def hasOffsets: Boolean =
    files.exists(offsets) && files.list(offsets).exists(f => Try(f.getPath.getName.toLong).isSuccess)

  def read(): Option[Seq[Int]] = Option.when(files.exists(path)) {
    val in = files.open(path)
    val text =
      try new String(in.readNBytes(SourcesRecord.MaxBytes + 1), UTF_8)
      finally in.close()
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

  def write(numbers: Seq[Int]): Unit = {
    files.mkdirs(path.getParent)
    val out = files.createAtomic(path, overwriteIfPossible = true)
    try {
      out.write(s"v1 ${numbers.mkString(" ")}\n".getBytes(UTF_8))
      out.close()
    } catch { case e: Throwable => out.cancel(); throw e }
  }

  def delete(): Unit = if (files.exists(path)) files.delete(path)
}

object SourcesRecord {

  /** More than any query has places. */
  final private val MaxBytes = 1 << 20
}
