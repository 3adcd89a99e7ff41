package io.joinless.spark.views

import io.joinless.spark.changes.Changes
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.writer.{ApplyChanges, Target}
import org.apache.spark.sql.joinless.{Plans, QueryTexts}
import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

/** A view that can be started: its query is one of which changes can be emitted.
  *
  * @param deltas the changes of its result
  * @param record what its table is to say of it, without the checkpoint
  * @param givenKey the columns that were given as its key
  * @param foundKey the key of its query
  * @param trigger how often a batch begins
  */
final private[spark] case class WantedView(
    deltas: DataFrame,
    record: ViewRecord,
    givenKey: Seq[String],
    foundKey: Seq[String],
    trigger: Trigger
) {
  def session: SparkSession = deltas.sparkSession

  def key: Option[Seq[String]] = Seq(givenKey, foundKey).find(_.nonEmpty)

  /** Its changes, to be applied to a table. */
  def into(table: Target): DataStreamWriter[Row] = {
    val changes = new ApplyChanges(table, key, None, shared = false)
    deltas.writeStream.foreachBatch((rows: DataFrame, batch: Long) => changes(rows, batch))
  }
}

private[spark] object WantedView {

  /** The trigger that processes the available data and ends. */
  val Available = "availableNow"

  /** The default time between batches: idle views poll their sources that often. */
  private val Interval = "10 seconds"

  /** A view of a query that is given as a DataFrame. */
  def of(query: DataFrame, key: Seq[String], trigger: Option[String]): WantedView =
    of(query, ViewRecord(None, None, Nil, None), key, trigger)

  /** A view of the text of a query.
    *
    * @param tables relations that the text calls by these names
    * @param database of names without one; None for the current one
    */
  def of(
      session: SparkSession,
      text: String,
      tables: Map[String, DataFrame],
      key: Seq[String],
      trigger: Option[String],
      database: Option[String] = None
  ): WantedView = {
    val named = database.getOrElse(QueryTexts.database(session))
    val record = ViewRecord(Some(text), Some(named), tables.keys.toSeq, None)
    of(QueryOverTables.query(session, text, tables, database), record, key, trigger)
  }

  /** The view that a table has, with its query of now. */
  def again(
      session: SparkSession,
      view: String,
      tables: Option[Map[String, DataFrame]],
      key: Seq[String],
      trigger: Option[String]
  ): WantedView = {
    val now = KeptView(session, view).record
    val text = now.query.filter(_ => now.frames.isEmpty || tables.isDefined)
      .getOrElse(throw ViewErrors.noNewQuery(view, now.frames))
    of(session, text, tables.getOrElse(Map.empty), key, trigger, now.database)
  }

  private def of(query: DataFrame, record: ViewRecord, key: Seq[String], trigger: Option[String]): WantedView = {
    val every = this.trigger(trigger)
    val deltas = Changes.deltas(query, DeltaForm.Weight)
    WantedView(deltas, record, key, keyOf(query), every)
  }

  /** A key of the result of a query: columns by which all rows differ; empty if the query does not
    * imply one. A query whose changes cannot be emitted is refused.
    */
  def keyOf(query: DataFrame): Seq[String] = {
    val (session, analyzed) = (query.sparkSession, Plans.analyzed(query))
    val _ = DeltaCompilation(session, Changes.marked(analyzed, DeltaForm.Weight))
    DeltaCompilation.key(session, analyzed).map(_.name)
  }

  private def trigger(text: Option[String]): Trigger = text match {
    case Some(Available) => Trigger.AvailableNow()
    case other =>
      try Trigger.ProcessingTime(other.getOrElse(Interval))
      catch { case _: IllegalArgumentException => throw ViewErrors.trigger(other.getOrElse(Interval)) }
  }
}
