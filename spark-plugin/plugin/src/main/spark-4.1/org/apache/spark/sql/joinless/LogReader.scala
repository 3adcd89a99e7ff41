package org.apache.spark.sql.joinless

import java.nio.charset.StandardCharsets.US_ASCII

import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing._
import org.apache.spark.sql.execution.streaming.runtime.StreamMetadata
import org.apache.spark.sql.internal.SQLConf

/** Reads the logs of a checkpoint, from outside. Nothing is written: Spark 4.1's logs make folders
  * that are missing, so these are not read.
  */
final private class LogReader(session: SparkSession, checkpoint: Path) {
  private val hadoop = session.sessionState.newHadoopConf()
  private val files: FileSystem = checkpoint.getFileSystem(hadoop)
  private val (offsetsFolder, commitsFolder) = (new Path(checkpoint, "offsets"), new Path(checkpoint, "commits"))

  /** Batches whose commit exists, ascending. */
  def batches: Seq[Long] =
    if (files.exists(commitsFolder)) new CommitLog(session, commitsFolder.toString).listBatchesOnDisk.toSeq else Nil

  /** The id of the query. */
  def query: String = StreamMetadata.read(new Path(checkpoint, "metadata"), hadoop)
    .getOrElse(throw new IllegalStateException(s"the checkpoint $checkpoint has no id of its query")).id

  def offsets(batch: Long): Option[OffsetSeq] =
    if (files.exists(offsetsFolder)) new OffsetSeqLog(session, offsetsFolder.toString).get(batch) else None

  /** Spark 4.1 reads commits of one version of their format, which a setting names. */
  def commit(batch: Long): Option[CommitMetadata] = {
    val file = new Path(commitsFolder, batch.toString)
    if (!files.exists(file)) None
    else {
      val reading = session.cloneSession()
      reading.conf.set(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION.key, formatOf(file))
      new CommitLog(reading, commitsFolder.toString).get(batch)
    }
  }

  /** The number after the "v" with which the file begins. */
  private def formatOf(file: Path): String = {
    val in = files.open(file)
    try new String(in.readNBytes(8), US_ASCII).takeWhile(_ != '\n').trim.stripPrefix("v")
    finally in.close()
  }
}
