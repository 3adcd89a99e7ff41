package io.joinless.spark.batches

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.joinless.spark.exec.JoinFreeExec
import io.joinless.spark.exec.operator.ReadInParts
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.{BatchForms, BatchPlans, UnstartedQuery}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

/** The micro-batches of a streaming query over streams of files or in memory, run without a
  * streaming query.
  *
  * Each batch is analyzed, optimized and planned by Spark with the extension in it, as the batches
  * of a query are. Its operators run unchanged, Spark's and ours, over real state stores: a log
  * that is committed, view trees in the cache, watermarks of the batch before, a record in the
  * checkpoint. Missing is the environment of a query ([[UnstartedQuery]]). So a batch takes a
  * fraction of the time, and random queries are tested by the hundred.
  *
  * @param session its confs are those of the query; views of it are streams of one of these kinds
  * @param checkpoint an empty folder
  * @param forms plans the batches of the sources
  */
final class MicroBatches(
    session: SparkSession,
    query: => DataFrame,
    checkpoint: String,
    forms: BatchForms,
    mode: OutputMode = OutputMode.Append()
) {

  /** For Python: with sources that give scans. */
  def this(session: SparkSession, query: DataFrame, checkpoint: String) =
    this(session, query, checkpoint, BatchForms.scans(session))

  private var run = UnstartedQuery(query, checkpoint, mode)
  private var last = Option.empty[UnstartedQuery.Batch]

  /** Number of join blocks of the query. */
  def blocks: Int = last.fold(0)(_.executed.collect { case block: JoinFreeExec => block }.size)

  /** Another run continues the checkpoint. The query is made anew. */
  def restart(): Unit = {
    close()
    run = UnstartedQuery(query, checkpoint, mode)
  }

  /** Runs the next batch.
    *
    * @param files new files in the folders of the streams; folders without any may be omitted
    * @return the rows that a sink would get
    */
  def play(files: Map[String, Seq[String]]): Seq[Row] = playFiles(files).rows

  /** The same, with its report. */
  def playFiles(files: Map[String, Seq[String]]): UnstartedQuery.Batch =
    played(BatchPlans.of(run.query, files, forms.next))

  /** The same over streams in memory, followed by the batches without rows that Spark would run
    * before it waits for more.
    *
    * @param rows new rows per stream; the rows in the streams themselves are ignored
    */
  def playRows(rows: Map[MemoryStream[_], Seq[Row]], readTwice: Boolean = false): Seq[UnstartedQuery.Batch] = {
    def next(rows: Map[MemoryStream[_], Seq[Row]]) =
      played(BatchPlans.ofRows(session, run.query, rows, forms.next), readTwice)
    val batches = mutable.ArrayBuffer(next(rows))
    while (run.goesOn) batches += next(Map.empty)
    batches.toSeq
  }

  /** Whether the query reads one of them. */
  def reads(streams: Set[MemoryStream[_]]): Boolean = BatchPlans.reads(run.query, streams)

  private def played(plan: LogicalPlan, readTwice: Boolean = false): UnstartedQuery.Batch = {
    val batch = run.run(plan, readTwice)
    batch.executed.collect { case operator: ReadInParts => operator }.foreach { operator =>
      assert(operator.partsLeft == 0, s"batch ${batch.number} left partitions of $operator")
    }
    last = Some(batch)
    batch
  }

  /** For Python: the same with folders and files as Java collections and the rows as a data frame.
    */
  def play(files: java.util.Map[String, java.util.List[String]]): DataFrame = {
    val rows = play(files.asScala.map { case (folder, names) => folder -> names.asScala.toSeq }.toMap)
    session.createDataFrame(rows.asJava, run.query.schema)
  }

  def close(): Unit = run.close()
}
