package io.joinless.spark.checkpoint

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.CheckpointFiles

/** A text of ours in the folder `joinless` of a checkpoint, written as a whole. */
final class SmallFile(session: SparkSession, checkpoint: String, name: String) {
  private val path = new Path(checkpoint, s"joinless/$name")
  private val files = new CheckpointFiles(session, path)

  /** Its first [[SmallFile.MaxBytes]]; None if it is not there. */
  def read(): Option[String] =
    Option.when(files.exists(path))(new String(files.read(path, SmallFile.MaxBytes), UTF_8))

  def write(text: String): Unit = files.write(path, text.getBytes(UTF_8))

  def delete(): Unit = files.delete(path)
}

object SmallFile {

  /** No text of ours is as large. */
  final val MaxBytes: Int = 16 << 20
}
