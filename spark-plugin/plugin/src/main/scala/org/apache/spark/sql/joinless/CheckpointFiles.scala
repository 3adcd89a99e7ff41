package org.apache.spark.sql.joinless

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** Files of a checkpoint, as the session reaches them: through Spark's own manager, so that writes
  * which Spark makes atomic by renaming are atomic here, too. A folder's names are those of its
  * files and folders, in any order; empty if it does not exist.
  *
  * Uses `CheckpointFileManager`, internal to Spark.
  */
final class CheckpointFiles(session: SparkSession, folder: Path) {
  private val files =
    CheckpointFileManager.create(folder, classicOf(session).sessionState.newHadoopConf())

  def exists(path: Path): Boolean = files.exists(path)

  def names(path: Path): Seq[String] = sizes(path).map(_._1)

  /** The names with the bytes of each. */
  def sizes(path: Path): Seq[(String, Long)] =
    if (files.exists(path)) files.list(path).toSeq.map(f => f.getPath.getName -> f.getLen) else Nil

  /** At most `most` bytes of a file. */
  def read(path: Path, most: Int): Array[Byte] = {
    val in = files.open(path)
    try in.readNBytes(most)
    finally in.close()
  }

  /** Writes the file, or replaces it, as a whole. */
  def write(path: Path, bytes: Array[Byte]): Unit = {
    files.mkdirs(path.getParent)
    val out = files.createAtomic(path, overwriteIfPossible = true)
    try {
      out.write(bytes)
      out.close()
    } catch { case e: Throwable => out.cancel(); throw e }
  }

  def delete(path: Path): Unit = if (files.exists(path)) files.delete(path)
}
