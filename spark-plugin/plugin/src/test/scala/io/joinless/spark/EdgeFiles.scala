package io.joinless.spark

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

/** A stream of edges in CSV files, and the result of batch SQL over the existing files. */
final class EdgeFiles(spark: SparkSession, name: String) {

  private val root: Path = TestFolders.create("edges")
  private val folder: Path = Files.createDirectory(root.resolve("in"))
  private val schema = "src BIGINT, dst BIGINT"
  private var files = 0

  /** Number of files so far. */
  def size: Int = files

  /** A folder of this test: a checkpoint or an output. */
  def path(name: String): String = root.resolve(name).toString

  def add(edges: (Any, Any)*): Unit = {
    val hidden = Files.write(root.resolve(s"$files.csv"), edges.map { case (s, d) => s"$s,$d" }.asJava)
    val _ = Files.move(hidden, folder.resolve(s"$files.csv"))
    files += 1
  }

  /** Adds a file of random edges among few vertices, some with NULLs, some twice. */
  def addRandom(seed: Int, count: Int = 60, vertices: Int = 25): Unit = {
    val random = new Random(seed)
    def vertex: Any = if (random.nextInt(20) == 0) "" else random.nextInt(vertices)
    add(Seq.fill(count)((vertex, vertex)): _*)
  }

  def stream(filesPerTrigger: Option[Int] = Some(1)): DataFrame = {
    val reader = spark.readStream.schema(schema).format("csv")
    filesPerTrigger.fold(reader)(n => reader.option("maxFilesPerTrigger", n.toLong)).load(folder.toString)
  }

  /** The query over the stream. */
  def streaming(sql: String, filesPerTrigger: Option[Int] = Some(1)): DataFrame = {
    stream(filesPerTrigger).createOrReplaceTempView(name)
    spark.sql(sql)
  }

  /** Reads all existing files, to the end, into the folder `out`. */
  def run(df: DataFrame): StreamingQuery = {
    val query = df.writeStream
      .format("parquet")
      .option("checkpointLocation", path("cp"))
      .trigger(Trigger.AvailableNow())
      .start(path("out"))
    query.awaitTermination()
    query
  }

  def expected(sql: String): Seq[String] = EdgeFiles.sorted(batch(sql))

  /** The same query over the files, by Spark in batch. */
  def batch(sql: String): Seq[Row] = {
    spark.read.schema(schema).csv(folder.toString).createOrReplaceTempView(name)
    spark.sql(sql).collect().toSeq
  }
}

object EdgeFiles {
  def sorted(rows: Seq[Row]): Seq[String] = rows.map(_.toString).sorted
}
