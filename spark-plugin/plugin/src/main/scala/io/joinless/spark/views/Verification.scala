package io.joinless.spark.views

import java.util.Locale

import scala.util.Try

import io.joinless.spark.checkpoint.CommittedState
import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.writer.BatchNote
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.joinless.{CheckpointFolder, CheckpointLogs, OwnSession, SessionPlans}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** The table of a view, compared with its query.
  *
  * The query is run as batch SQL over the versions of its tables that the view has read. So the
  * view may be running, or behind its tables. Nothing is changed.
  *
  * @param view the table
  * @param version of the table that was read
  * @param batch the batch of the view that the version contains
  */
final class Verification private (
    val view: String,
    val version: Long,
    val batch: Long,
    compared: Comparison,
    totals: Comparison.Totals
) {

  /** The number of rows of the table. */
  def rows: Long = totals.rows

  /** Rows of the query's result that the table lacks, copies counted. */
  def missing: Long = totals.missing

  /** Rows of the table that are not in the query's result, copies counted. */
  def extra: Long = totals.extra

  /** Rows that differ by rounding only. They count as equal. */
  def rounded: Long = totals.rounded

  def isEqual: Boolean = missing == 0 && extra == 0

  /** The missing and the extra rows, with the number of their copies in the table and in the
    * query's result.
    */
  def differences: DataFrame = compared.differences
}

object Verification {

  /** Compares the table of a view with its query, in the time zone by which the view was computed.
    *
    * @param query the text of another query over Delta tables, in the current database; None for
    *   that of the view
    */
  def apply(session: SparkSession, name: String, query: Option[String]): Verification = Inspection.within(session) {
    val view = KeptView(session, name)
    val own = view.record.query.filter(_ => view.record.frames.isEmpty)
    val text = query.orElse(own).getOrElse(throw ViewErrors.noQuery(name, view.record.frames))
    val checkpoint = view.checkpoint
    // What is committed is read before the version: later batches up to the one of the version's
    // newest note have changed it, and none in between has.
    val committed = new CheckpointFolder(session, new Path(checkpoint)).committed
      .getOrElse(throw ViewErrors.noBatch(name))
    val (version, note) = BatchNote.newest(session, name, new CheckpointLogs(session, checkpoint).query)
    val batch = note.fold(committed)(_.batch.max(committed))
    val database = if (query.isEmpty) view.record.database else None
    val zone = if (query.isEmpty) Try(CommittedState(session, checkpoint, None).zone).toOption.flatten else None
    val there = zone.fold(session)(zone => OwnSession.having(session, "spark.sql.session.timeZone" -> zone))
    val expected = QueryOverTables.at(there, text, database, checkpoint, batch)
    val actual = there.sql(s"SELECT * FROM $name VERSION AS OF $version")
    val compared = new Comparison(actual, inOrder(there, name, expected, actual.columns.toSeq))
    new Verification(name, version, batch, compared, compared.totals)
  }

  /** The columns of the query in the order of the table's. */
  private def inOrder(session: SparkSession, view: String, expected: DataFrame, columns: Seq[String]): DataFrame = {
    val sensitive = new SessionPlans(session).conf.caseSensitiveAnalysis
    def folded(name: String) = if (sensitive) name else name.toLowerCase(Locale.ROOT)
    val named = expected.columns.map(name => folded(name) -> name).toMap
    if (named.size != expected.columns.length || named.keySet != columns.map(folded).toSet)
      throw ViewErrors.columns(view, columns, expected.columns.toSeq)
    expected.select(columns.map(name => expected.col(quoteIdentifier(named(folded(name))))): _*)
  }
}
