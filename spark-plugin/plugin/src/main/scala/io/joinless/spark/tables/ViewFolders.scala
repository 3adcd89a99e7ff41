package io.joinless.spark.tables

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.joinless.CheckpointFiles

/** The folders that a view keeps in the folder of its table: checkpoints, `_joinless` and
  * `_joinless_2`, and the rows of a replacement, `_joinless_2_rows`. A query that replaces the
  * view's has a checkpoint of its own.
  */
object ViewFolders {
  private val Name = "_joinless(_[0-9]+(_rows)?)?"

  /** Removes all of them but these. */
  def keep(session: SparkSession, table: String, kept: Set[String]): Unit = {
    val folder = new Path(table)
    val files = new CheckpointFiles(session, folder)
    for (name <- files.names(folder) if name.matches(Name) && !kept(name)) files.delete(new Path(folder, name))
  }
}
