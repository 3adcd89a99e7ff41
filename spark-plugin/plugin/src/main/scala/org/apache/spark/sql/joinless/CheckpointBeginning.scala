package org.apache.spark.sql.joinless

import org.apache.hadoop.fs.{FileUtil, Path}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.{OffsetSeq, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.runtime.{SerializedOffset, StreamingQueryCheckpointMetadata}
import org.apache.spark.sql.internal.SQLConf

/** Writes a checkpoint whose first batch is planned and not done: Spark runs it when the query
  * starts, up to these offsets.
  *
  * Private to Spark: the logs of a checkpoint, and the folders `sources/<number>` in which sources
  * keep what they need to read their offsets.
  */
final class CheckpointBeginning(session: SparkSession, checkpoint: String) {
  private val own = classicOf(session)
  private val hadoop = own.sessionState.newHadoopConf()

  /** @param from the checkpoint of which these are offsets
    * @param sources the numbers of sources there and here
    * @param offsets one for each scan; None where nothing is read in the first batch
    */
  def write(from: String, sources: Seq[(Int, Int)], offsets: Seq[Option[String]]): Unit = {
    for ((there, here) <- sources) copied(new Path(from, s"sources/$there"), new Path(checkpoint, s"sources/$here"))
    val logs = new StreamingQueryCheckpointMetadata(own, checkpoint)
    val _ = logs.streamMetadata // Spark refuses a checkpoint that has begun and has no id of its query
    val settings = OffsetSeqMetadata(0L, System.currentTimeMillis, own.conf)
    // a running query has them under a name of its own
    val partitions = SQLConf.SHUFFLE_PARTITIONS.key -> own.sessionState.conf.numShufflePartitions.toString
    val all = settings.copy(conf = settings.conf.filter(_._2 != null) + partitions)
    val written = logs.offsetLog.add(0L, OffsetSeq(offsets.map(_.map(SerializedOffset(_))), Some(all)))
    if (!written) throw new IllegalStateException(s"Another query has begun the checkpoint $checkpoint.")
  }

  /** Copies the files of a folder that are whole: a file that is being written has a name with a
    * dot.
    */
  private def copied(from: Path, to: Path): Unit = {
    val files = from.getFileSystem(hadoop)
    if (files.exists(from)) {
      val there = to.getFileSystem(hadoop)
      there.delete(to, true)
      there.mkdirs(to)
      for (file <- files.listStatus(from) if !file.getPath.getName.startsWith("."))
        FileUtil.copy(files, file.getPath, there, new Path(to, file.getPath.getName), false, true, hadoop)
    }
  }
}
