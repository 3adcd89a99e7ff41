package io.joinless.spark.views

import java.sql.Timestamp

import scala.collection.immutable.ListMap
import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import io.joinless.spark.inspect.Inspection
import io.joinless.spark.tables.QueryOverTables
import org.apache.spark.sql.joinless.CheckpointFolder
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.hadoop.fs.Path

/** What views are doing: one row for each. */
object Status {

  val Columns: StructType = StructType.fromDDL(
    "view STRING, state STRING, error STRING, batch BIGINT, version BIGINT, updated TIMESTAMP, " +
      "behind MAP<STRING, BIGINT>, stored_rows BIGINT, memory_bytes BIGINT, rows_late BIGINT, " +
      "advice ARRAY<STRING>, query STRING"
  )

  /** The rows, as of now.
    *
    * @param views the tables of views; None for all views of the current database
    */
  def apply(session: SparkSession, views: Option[Seq[String]]): Seq[Row] = Inspection.within(session) {
    views.fold(KeptView.all(session))(_.map(KeptView(session, _))).map(row(session, _))
  }

  /** The same as a DataFrame. */
  def dataFrame(session: SparkSession, views: Option[Seq[String]]): DataFrame =
    session.createDataFrame(apply(session, views).asJava, Columns)

  /** The row of a view. If its checkpoint or table cannot be read, the row says why, and the others
    * are there.
    */
  private def row(session: SparkSession, view: KeptView): Row =
    try known(session, view)
    catch {
      case NonFatal(e) =>
        val state = StartedQueries.last(view.location).fold("unknown")(this.state)
        val unknown = Seq.fill[Any](Columns.size - 5)(null)
        Row.fromSeq(Seq(view.name, state, Failure.line(e)) ++ unknown ++ Seq(Nil, view.record.query.orNull))
    }

  private def known(session: SparkSession, view: KeptView): Row = {
    val batch = new CheckpointFolder(session, new Path(view.checkpoint)).committed
    val newest = session.sql(s"DESCRIBE HISTORY ${view.name} LIMIT 1").select("version", "timestamp").head()
    val query = StartedQueries.last(view.location)
    val failure = query.filterNot(_.isActive).flatMap(Failure.line)
    val figures = query.filter(_.isActive).flatMap(Figures.of)
    val tables = batch.flatMap(since(session, view, _))
    Row(
      view.name,
      query.fold("unknown")(state),
      failure.orNull,
      batch.map(Long.box).orNull,
      newest.getLong(0),
      newest.getAs[Timestamp](1),
      tables.map(_._1).orNull,
      figures.map(f => Long.box(f.storedRows)).orNull,
      figures.map(f => Long.box(f.memoryBytes)).orNull,
      figures.map(f => Long.box(f.rowsLate)).orNull,
      figures.toSeq.flatMap(_.advice) ++ failure.flatMap(Failure.advice(view.name, _)) ++
        tables.toSeq.flatMap(_._2).map(readAgain),
      view.record.query.orNull
    )
  }

  private def state(query: StreamingQuery): String =
    if (query.isActive) "running" else if (query.exception.isEmpty) "stopped" else "failed"

  /** The commits of each table that a batch has not read, and the static tables that have changed;
    * None if the query has no text, or reads anything else, or a table is gone.
    */
  private def since(session: SparkSession, view: KeptView, batch: Long): Option[(Map[String, Long], Seq[String])] = {
    val record = view.record
    record.query.filter(_ => record.frames.isEmpty).flatMap { text =>
      Try(QueryOverTables.since(session, text, record.database, view.checkpoint, batch)).toOption
    }.map { tables =>
      val prefix = record.database.fold("")(_ + ".")
      val sorted = tables.commits.toSeq.sorted.map { case (name, commits) => name.stripPrefix(prefix) -> commits }
      ListMap.from(sorted) -> tables.changed
    }
  }

  private def readAgain(table: String): String =
    s"The static table $table has changed since the view read it. joinless.replace reads it again."
}
