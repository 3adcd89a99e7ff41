package io.joinless.spark.source

import io.joinless.spark.{EdgeFiles, SharedSpark}
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.Suite

/** Queries over edges that ran, and the results that are read from their checkpoints. */
trait StoredResults extends SharedSpark { self: Suite =>

  /** Reads all existing files, one per batch; the query's output is discarded. */
  def run(files: EdgeFiles, sql: String): Unit = run(files, files.streaming(sql))

  def run(files: EdgeFiles, df: DataFrame): Unit = {
    val _ = df.writeStream
      .format("noop")
      .option("checkpointLocation", files.path("cp"))
      .trigger(Trigger.AvailableNow())
      .start()
      .awaitTermination()
  }

  /** A query that ran over random edges. */
  def ran(sql: String, batches: Int = 3): EdgeFiles = {
    val files = new EdgeFiles(spark, "e")
    (1 to batches).foreach(files.addRandom(_))
    run(files, sql)
    files
  }

  def read(files: EdgeFiles, options: (String, String)*): DataFrame = read(spark, files, options: _*)

  def read(session: SparkSession, files: EdgeFiles, options: (String, String)*): DataFrame =
    session.read.format("joinless").option("checkpointLocation", files.path("cp")).options(options.toMap).load()

  def rows(df: DataFrame): Seq[String] = EdgeFiles.sorted(df.collect().toSeq)
}
