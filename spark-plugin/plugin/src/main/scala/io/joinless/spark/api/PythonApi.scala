package io.joinless.spark.api

import scala.jdk.CollectionConverters._

import io.joinless.spark.changes.Changes
import io.joinless.spark.conf.Built
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.evolve.{BeginWithStoredRows, Evolution}
import io.joinless.spark.inspect.{ActiveQueries, Inspection}
import io.joinless.spark.kafka.{Debezium, Upserts}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.source.{FullResult, Lookups, ResultsOnDemand}
import io.joinless.spark.spec.StateFormat
import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.views._
import io.joinless.spark.writer.{ApplyChanges, Target}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{Column, DataFrame, Dataset, SparkSession}
import org.json4s.JsonAST.{JArray, JLong, JNull, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods.{compact, render}

/** The only entry point for Python: static methods of plain types, called through py4j.
  *
  * They work without a running query.
  */
object PythonApi {

  def version(): String = StateFormat.EngineVersion

  /** The Spark minor version this jar is built for. */
  def sparkVersion(): String = Built.Spark

  /** Whether the session was created with the extension. */
  def isInstalled(session: SparkSession): Boolean = Inspection.hasExtension(session)

  /** How each block of the query would be computed, and which joins stay with Spark and why, as
    * text.
    *
    * @param isView the changes of its result are requested
    */
  def explainText(df: Dataset[_], isView: Boolean = false): String = explained(df, isView)(_.text)

  /** What look-ups of the query's result will cost, each by values of some columns, as texts. */
  def lookupTexts(df: Dataset[_], lookups: java.util.List[java.util.List[String]]): java.util.List[String] =
    explained(df)(_.lookups(lookups.asScala.map(_.asScala.toSeq).toSeq)).asJava

  /** The join trees of the query's blocks, as a Mermaid drawing. */
  def explainMermaid(df: Dataset[_]): String = explained(df)(_.mermaid)

  /** The join trees, reasons, cost and steps of the query as JSON; `isView` as for `explainText`.
    */
  def explainJson(df: Dataset[_], isView: Boolean = false): String = explained(df, isView)(_.json)

  /** The reasons of the joins that stay with Spark, as a JSON list of `code`, `sentence`, `advice`,
    * `arguments`; `isView` as for `explainText`.
    */
  def whyNotJson(df: Dataset[_], isView: Boolean = false): String =
    explained(df, isView)(_.reasonsJson)

  /** What is read of an explanation, with the settings of its session. */
  private def explained[A](df: Dataset[_], isView: Boolean = false)(read: Explanation => A): A =
    Inspection.within(df.sparkSession)(read(Explanation(df, isView)))

  /** The rows of `df`, a changelog or not, that are not older than `after`: a row is deleted when
    * the watermark reaches its time in `column` plus `after`.
    */
  def expire(df: Dataset[_], column: String, after: String): DataFrame = Changes.expire(df.toDF(), column, after)

  /** The rows of `df`, a changelog or not, of which at most one has the same values in these columns.
    */
  def key(df: Dataset[_], columns: java.util.List[String]): DataFrame = Changes.key(df.toDF(), columns.asScala.toSeq)

  /** A sample that is kept of the rows of the query `df`: `size` of them, each as likely as the
    * others.
    */
  def keptSample(df: Dataset[_], size: Long, seed: Long, by: java.util.List[String]): DataFrame =
    Changes.sample(df.toDF(), size, seed, Option(by).map(_.asScala.toSeq))

  /** The relation of which `df` is a changelog, with the column `changeType` or `weight`; with
    * `_change_type` if both are null.
    */
  def changelog(df: Dataset[_], changeType: String, weight: String): DataFrame =
    Changes.changelog(df.toDF(), Option(changeType), Option(weight))

  /** The Delta table of this name, or ``delta.`path` ``, as it changes. */
  def table(session: SparkSession, name: String): DataFrame = QueryOverTables.table(session, name)

  /** The query over the Delta tables that it names, as they change.
    *
    * @param named relations that the query calls by these names
    */
  def sql(session: SparkSession, query: String, named: java.util.Map[String, Dataset[_]]): DataFrame =
    QueryOverTables.query(session, query, frames(named))

  /** The view of the text of a query, which can be started.
    *
    * @param tables relations that the text calls by these names
    * @param trigger an interval, `availableNow`, or null
    */
  def view(
      session: SparkSession,
      query: String,
      tables: java.util.Map[String, Dataset[_]],
      key: java.util.List[String],
      trigger: String
  ): WantedView = WantedView.of(session, query, frames(tables), key.asScala.toSeq, Option(trigger))

  /** The view of a DataFrame. */
  def view(query: Dataset[_], key: java.util.List[String], trigger: String): WantedView =
    WantedView.of(query.toDF(), key.asScala.toSeq, Option(trigger))

  /** The view that a table has, with its query of now; `tables` may be null. */
  def viewAgain(
      session: SparkSession,
      view: String,
      tables: java.util.Map[String, Dataset[_]],
      key: java.util.List[String],
      trigger: String
  ): WantedView = WantedView.again(session, view, Option(tables).map(frames), key.asScala.toSeq, Option(trigger))

  private def frames(named: java.util.Map[String, Dataset[_]]): Map[String, DataFrame] =
    named.asScala.view.mapValues(_.toDF()).toMap

  /** Starts a view; `checkpoint` and `name` may be null. */
  def materialize(view: WantedView, into: String, checkpoint: String, name: String): StreamingQuery =
    StartView(view, into, Option(checkpoint), Option(name))

  /** Gives a view another query, or another number of cells; `cells` and `name` may be null. */
  def replace(wanted: WantedView, view: String, cells: Integer, name: String): StreamingQuery =
    ReplaceView(wanted, view, Option(cells).map(_.intValue), Option(name))

  /** From what the new query of a view would begin, as JSON; `cells` may be null. */
  def replacement(wanted: WantedView, view: String, cells: Integer): String =
    json(ReplaceView.plan(wanted, view, Option(cells).map(_.intValue)))

  /** Stops a view and removes its table. */
  def drop(session: SparkSession, view: String): Unit = DropView(session, view)

  /** Applies the changes of batches to a Delta table; `key` and `appId` may be null. */
  def changesTo(target: String, key: java.util.List[String], appId: String, shared: Boolean): ApplyChanges =
    new ApplyChanges(Target(target), Option(key).map(_.asScala.toSeq), Option(appId), shared)

  /** Why a query has stopped, as `[CONDITION] text`; null while it runs, and if it was stopped. */
  def failure(query: StreamingQuery): String =
    Failure.ofTables(query).map(_.getMessage).orElse(Failure.line(query)).orNull

  /** What views are doing, a row for each.
    *
    * @param views the tables of views; null for all views of the current database
    */
  def status(session: SparkSession, views: java.util.List[String]): DataFrame =
    Status.dataFrame(session, Option(views).map(_.asScala.toSeq))

  /** The table of a view, compared with its query.
    *
    * @param query the text of another query over Delta tables, or null
    */
  def verify(session: SparkSession, view: String, query: String): Verification =
    Verification(session, view, Option(query))

  /** Advice on a running query, in whole sentences. */
  def advice(query: StreamingQuery): java.util.List[String] = Advice(query.recentProgress.toSeq).asJava

  /** How a query would take over from the query of a checkpoint, as JSON: from which batch, which
    * streams with stored rows, and which it reads again and why.
    */
  def evolution(df: Dataset[_], checkpoint: String): String =
    json(ReplaceView.Plan.of(Evolution(df.toDF(), checkpoint)))

  private def json(plan: ReplaceView.Plan): String = compact(render(JObject(
    "batch" -> plan.batch.fold[JValue](JNull)(JLong(_)),
    "stored" -> JArray(plan.stored.map(JString(_)).toList),
    "again" -> JObject(plan.again.map { case (name, why) => name -> JString(why) }.toList)
  )))

  /** Lets the query that will have a checkpoint take over from the query of another one. */
  def evolve(session: SparkSession, checkpoint: String, from: String): Unit =
    BeginWithStoredRows.request(session, checkpoint, from)

  /** `df` as a stream whose rows are plain rows, even if `df` is a change feed. */
  def rows(df: Dataset[_]): DataFrame = Changes.rows(df.toDF())

  /** The changes of `df`'s result, in the form `change_type` or `weight`. */
  def deltas(df: Dataset[_], form: String): DataFrame =
    Changes.deltas(df.toDF(), DeltaForm.of(form).getOrElse(throw JoinlessErrors.deltaForm(form)))

  /** The table whose changes a Debezium topic has.
    *
    * @param schema its columns, as DDL or as JSON
    * @param key columns that identify a row; empty for a changelog
    * @param added columns that older messages lack
    * @param decimals how decimals are written, and `timestamps` in which unit, where messages do
    *   not say it; null if unknown
    */
  def debezium(
      df: Dataset[_],
      schema: String,
      key: java.util.List[String],
      added: java.util.List[String],
      decimals: String,
      timestamps: String
  ): DataFrame =
    Debezium.relation(
      df.toDF(),
      schema,
      key.asScala.toSeq,
      added.asScala.toSeq,
      Option(decimals),
      Option(timestamps)
    )

  /** The records of a compacted topic that the changes `df` make. */
  def upserts(df: Dataset[_], key: java.util.List[String]): DataFrame = Upserts.records(df.toDF(), key.asScala.toSeq)

  /** A key of the result of `df`: columns by which all rows differ; empty if the query does not
    * imply one. A query without changes is refused.
    */
  def resultKey(df: Dataset[_]): Array[String] = WantedView.keyOf(df.toDF()).toArray

  /** The complete result of the query `df` as of a committed batch of a checkpoint.
    *
    * @param batch a number, or null for the last one
    * @param operator number of the join's stateful operator, or null if one join of the checkpoint
    *   fits the query
    */
  def full(df: Dataset[_], checkpoint: String, batch: java.lang.Long, operator: java.lang.Long): DataFrame =
    FullResult(df.toDF(), checkpoint, Option(batch).map(_.longValue), Option(operator).map(_.longValue))

  /** How many rows `df` has, as a decimal number. */
  def count(df: Dataset[_]): String = ResultsOnDemand.count(df.toDF()).toString

  /** Of a complete result, the rows from number `offset` on.
    *
    * @param offset a decimal number
    */
  def page(df: Dataset[_], offset: String, size: Long): DataFrame =
    ResultsOnDemand.page(df.toDF(), BigInt(offset), size)

  /** Of a complete result, a uniform sample of `size` rows. */
  def sample(df: Dataset[_], size: Long, seed: Long, replacement: Boolean): DataFrame =
    ResultsOnDemand.sample(df.toDF(), size, seed, replacement)

  /** Of a complete result, the rows with these values in these columns. */
  def lookup(df: Dataset[_], columns: java.util.List[String], values: java.util.List[Column]): DataFrame =
    Lookups(df.toDF(), columns.asScala.toSeq, values.asScala.toSeq)

  /** The same for the values of each row of `keys`. */
  def lookup(df: Dataset[_], keys: Dataset[_]): DataFrame = Lookups(df.toDF(), keys.toDF())

  /** How often a row is in a complete result, as a decimal number. */
  def weightOf(df: Dataset[_], columns: java.util.List[String], values: java.util.List[Column]): String =
    Lookups.weight(df.toDF(), columns.asScala.toSeq, values.asScala.toSeq).toString

  /** The active query of that name or id, of any session. */
  def query(nameOrId: String): StreamingQuery = ActiveQueries.find(nameOrId)

  /** The checkpoint folder of a running query. */
  def checkpoint(query: StreamingQuery): String = Plans.checkpoint(query)
}
