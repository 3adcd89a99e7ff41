package io.joinless.spark.checkpoint

import java.io.FileNotFoundException
import java.nio.charset.StandardCharsets.UTF_8

import io.joinless.spark.spec.StateFormat
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.SparkSession

/** Whether a checkpoint holds state of ours, by file names and texts alone: for a Spark whose own
  * readers of state may not work. Public API only.
  */
object MarkedState {

  /** The greatest number of bytes that are read of a file. */
  final private val MaxBytes = 64 << 20

  private val ourOperator = s""""operatorName":"${StateFormat.OperatorName}""""

  /** Whether the metadata of some operator of the checkpoint names ours. */
  def exists(session: SparkSession, checkpoint: String): Boolean = {
    val state = new Path(checkpoint, "state")
    val conf = new Configuration(session.sparkContext.hadoopConfiguration)
    for ((key, value) <- session.conf.getAll) conf.set(key, value)
    val files = state.getFileSystem(conf)
    children(files, state).exists(operator =>
      texts(files, new Path(operator, "_metadata")).exists(_.contains(ourOperator))
    )
  }

  /** The content of each file in a folder and in folders below it. */
  private def texts(files: FileSystem, folder: Path): Iterator[String] =
    children(files, folder).iterator.flatMap { path =>
      if (files.getFileStatus(path).isDirectory) texts(files, path)
      else {
        val in = files.open(path)
        try Iterator(new String(in.readNBytes(MaxBytes), UTF_8))
        finally in.close()
      }
    }

  /** The files and folders in a folder; none if it does not exist. */
  private def children(files: FileSystem, folder: Path): Seq[Path] =
    try files.listStatus(folder).toSeq.map(_.getPath)
    catch { case _: FileNotFoundException => Nil }
}
