package io.joinless.spark.procedures

import java.util.{Iterator => JavaIterator}

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.ViewErrors
import io.joinless.spark.tables.QueryOverTables
import io.joinless.spark.views.WantedView
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.joinless.{BoundAlways, CheckpointFolder, Plans}
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StringType, StructType}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}
import org.apache.spark.unsafe.types.UTF8String

/** A procedure over views. It runs when the statement is analyzed, in the session that does so, and
  * returns one table of few rows. Names of tables are texts, as SQL spells them.
  */
abstract private[procedures] class ViewProcedure(override val name: String, override val description: String)
    extends BoundAlways {
  import ViewProcedure._

  /** The rows of a call. */
  protected def rows(session: SparkSession, arguments: InternalRow): DataFrame

  final override def isDeterministic: Boolean = false

  final override def call(arguments: InternalRow): JavaIterator[Scan] = {
    val found = rows(SparkSession.active, arguments)
    val scan: Scan = new LocalScan {
      override val readSchema: StructType = found.schema
      override val rows: Array[InternalRow] = Plans.rows(found).toArray
    }
    Iterator.single(scan).asJava
  }

  protected def required(parameter: String, dataType: DataType, comment: String): ProcedureParameter =
    ProcedureParameter.in(parameter, dataType).comment(comment).build()

  /** @param default in SQL */
  protected def optional(parameter: String, dataType: DataType, default: String, comment: String): ProcedureParameter =
    ProcedureParameter.in(parameter, dataType).defaultValue(default).comment(comment).build()

  /** What is said of a query that is started: its key, its trigger and its name. */
  protected def ofItsQuery: Array[ProcedureParameter] = Array(
    optional("key", Names, "NULL", "columns that are unique in the result; by default the key of the query"),
    optional("trigger", StringType, "NULL", "an interval, by default '10 seconds', or 'availableNow'"),
    optional("name", StringType, "NULL", "the name of the streaming query; by default that of the table")
  )

  /** How a client gives DataFrames, which are no texts: as temporary views. */
  protected def ofDataFrames: Array[ProcedureParameter] = Array(
    optional("tables", NamedViews, "NULL", "temporary views that the text calls by these names"),
    optional("temp_view", StringType, "NULL", "a temporary view whose query is meant, instead of a text")
  )

  /** The relations that the text of a query calls by names: temporary views. */
  protected def tables(session: SparkSession, arguments: InternalRow, position: Int): Option[Map[String, DataFrame]] =
    Option.unless(arguments.isNullAt(position)) {
      val named = arguments.getMap(position)
      val names = named.keyArray().toSeq[UTF8String](StringType).map(_.toString)
      val views = named.valueArray().toSeq[UTF8String](StringType)
        .map(Option(_).getOrElse(throw noValue(position)).toString)
      names.zip(views.map(session.table)).toMap
    }

  /** The view that a call asks for; None if it has neither a text nor a temporary view.
    *
    * @param query the position of the text, and so on
    */
  protected def wanted(session: SparkSession, arguments: InternalRow)(
      query: Int,
      key: Int,
      trigger: Int,
      tables: Int
  ): Option[WantedView] = {
    val (columns, every) = (names(arguments, key), text(arguments, trigger))
    asked(session, arguments)(query, tables).map {
      case Left(sql) => WantedView.of(session, sql, framesOf(session, arguments, tables), columns, every)
      case Right(frame) => WantedView.of(frame, columns, every)
    }
  }

  /** The query that a call asks for; None if it has neither a text nor a temporary view. */
  protected def query(session: SparkSession, arguments: InternalRow)(query: Int, tables: Int): Option[DataFrame] =
    asked(session, arguments)(query, tables).map {
      case Left(sql) => QueryOverTables.query(session, sql, framesOf(session, arguments, tables))
      case Right(frame) => frame
    }

  private def asked(session: SparkSession, arguments: InternalRow)(
      query: Int,
      tables: Int
  ): Option[Either[String, DataFrame]] = (text(arguments, query), text(arguments, tables + 1)) match {
    case (Some(_), Some(_)) => throw ViewErrors.twoQueries(name)
    case (sql, view) => sql.map(Left(_)).orElse(view.map(found => Right(session.table(found))))
  }

  private def framesOf(session: SparkSession, arguments: InternalRow, position: Int): Map[String, DataFrame] =
    tables(session, arguments, position).getOrElse(Map.empty)

  /** A text that may be NULL. One that is blank is refused. */
  protected def text(arguments: InternalRow, position: Int): Option[String] =
    Option.unless(arguments.isNullAt(position))(arguments.getUTF8String(position).toString).map { text =>
      if (text.isBlank) throw noValue(position) else text
    }

  /** A text that must be there. */
  protected def needed(arguments: InternalRow, position: Int): String =
    text(arguments, position).getOrElse(throw noValue(position))

  /** Names of columns; none if they are NULL. */
  protected def names(arguments: InternalRow, position: Int): Seq[String] =
    if (arguments.isNullAt(position)) Nil
    else {
      val listed = arguments.getArray(position)
      val names =
        (0 until listed.numElements()).map(i => if (listed.isNullAt(i)) "" else listed.getUTF8String(i).toString)
      if (names.isEmpty || names.exists(_.isBlank)) throw noValue(position) else names
    }

  /** The row of a query that was started: the table, the query's id, and the last batch that is
    * done. A query that ends by itself is waited for, and its error is raised.
    */
  protected def ended(
      session: SparkSession,
      view: String,
      query: StreamingQuery,
      trigger: Option[String]
  ): DataFrame = {
    if (trigger.contains(WantedView.Available)) query.awaitTermination()
    val batch = new CheckpointFolder(session, new Path(Plans.checkpoint(query))).committed
    session.createDataFrame(Seq(Row(view, query.id.toString, batch.map(Long.box).orNull)).asJava, Started)
  }

  /** The error of a parameter that needs a value. */
  protected def noValue(position: Int): Exception = ViewErrors.noValue(name, parameters()(position).name)

  final override def toString: String = s"joinless.$name"
}

private[procedures] object ViewProcedure {

  /** The type of several names. */
  private val Names: DataType = ArrayType(StringType)

  private val NamedViews: DataType = MapType(StringType, StringType)

  private val Started: StructType = StructType.fromDDL("view STRING, query_id STRING, batch BIGINT")
}
