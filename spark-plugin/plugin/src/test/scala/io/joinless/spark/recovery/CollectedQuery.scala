package io.joinless.spark.recovery

import java.util.concurrent.ConcurrentHashMap
import io.joinless.spark.EdgeFiles
import io.joinless.spark.errors.JoinlessAnalysisException
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import scala.jdk.CollectionConverters._

/** Runs of one query on one checkpoint, into a sink that keeps the rows of each batch: a batch that
  * runs again replaces its earlier output, so all rows together are right exactly if each batch has
  * exactly its rows.
  */
final class CollectedQuery(
    files: EdgeFiles,
    sql: String,
    through: DataFrame => DataFrame = identity,
    scheme: String = ""
) {
  private val batches = new ConcurrentHashMap[Long, Seq[Row]]

  def checkpoint: String = scheme + files.path("cp")

  /** Reads all existing files, one per batch. `sink` gets each batch before its rows are kept. */
  def run(sink: DataFrame => Any = _ => ()): StreamingQuery = {
    val write: (Dataset[Row], Long) => Unit = (rows, batch) => {
      val _ = sink(rows)
      batches.put(batch, rows.collect().toSeq)
      ()
    }
    val query = through(files.streaming(sql)).writeStream
      .option("checkpointLocation", checkpoint)
      .trigger(Trigger.AvailableNow())
      .foreachBatch(write)
      .start()
    query.awaitTermination()
    query
  }

  /** The first cause of the failure of a run that fails. */
  def failure(): Throwable =
    try { run(); throw new AssertionError("the query did not fail") }
    catch {
      case e @ (_: StreamingQueryException | _: JoinlessAnalysisException) =>
        Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).toSeq.last
    }

  /** The number of copies of each row. */
  def rows: Map[Row, Int] = counted(batches.values.asScala.flatten)

  def expected: Map[Row, Int] = counted(files.batch(sql))

  private def counted(rows: Iterable[Row]) = rows.groupMapReduce(identity)(_ => 1)(_ + _)
}

object CollectedQuery {

  /** A custom metric of each batch that had data. */
  def metric(query: StreamingQuery, name: String): Seq[Long] = query.recentProgress.toSeq
    .filter(_.numInputRows > 0)
    .map(_.stateOperators.head.customMetrics.get(name).longValue)
}
