package io.joinless.spark.views

import scala.util.Try
import scala.util.control.NonFatal

import io.joinless.spark.evolve.BeginWithStoredRows
import io.joinless.spark.tables.ViewFolders
import io.joinless.spark.writer.{ApplyChanges, BatchNote, Target, Transaction}
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.joinless.{CheckpointLogs, DeltaDetail, SqlTypes}
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.{MetadataBuilder, StructType}
import org.apache.spark.sql.{DataFrame, Row, SaveMode, SparkSession}

/** The replacement of a view's rows by those of another query.
  *
  * The other query is run into a table of its own first, in the folder of the view. Then the view's
  * table is switched to it. Invariants:
  *
  *   - Until the switch the view has the rows of its query, and may go on.
  *   - The switch is one commit. Its first step writes into the properties of the table which view
  *     comes ([[ViewRecord]]), its writer, so that the one before it can no longer write, and that
  *     the rows are still to be replaced (`joinless.replacing`). Whoever starts the view then does
  *     that first.
  *   - Rows that are equal stay: the commit is the difference of both tables. Only where the
  *     columns differ, all rows are written.
  *
  * @param location the folder of the view's table
  * @param name the name of the replacement's checkpoint in this folder
  */
final private[views] class Replacement private (
    session: SparkSession,
    target: Target,
    location: String,
    val name: String
) {
  import Replacement._

  private val checkpoint = s"$location/$name"
  private val rows = Target(s"delta.${quoteIdentifier(s"${checkpoint}_rows")}")

  /** Lets the query begin with the rows that the query of another checkpoint has stored. */
  def beginWith(other: String): Unit = BeginWithStoredRows.request(session, checkpoint, other)

  /** Runs a query of this name until it has the rows that are there.
    *
    * @param cells into how many cells its joins are divided at most, and its groups; None to choose
    */
  def fill(view: WantedView, called: String, cells: Option[Int]): Unit = {
    rows.checkNew(view.session, view.deltas.schema, view.key.getOrElse(Nil))
    val columns = Target.ofChanges(view.deltas).map { field =>
      field.copy(dataType = SqlTypes.nullable(field.dataType), nullable = true)
    }
    // CREATE TABLE would take a path in the folder of another table for a partition of it
    session.createDataFrame(java.util.List.of[Row](), StructType(columns)).write.format("delta").save(
      s"${checkpoint}_rows"
    )
    val writer = view.into(rows).queryName(called)
    // a query keeps the settings of its start
    val query = Transaction.within(session, cells.fold(Map.empty[String, String])(ofCells)) {
      writer.option("checkpointLocation", checkpoint).trigger(Trigger.AvailableNow()).start()
    }
    query.awaitTermination()
  }

  /** Makes the replacement the view of the table. The query of the view before stops, unless it
    * runs in another application. If the table refuses the rows, it has the view before again.
    */
  def switch(view: ViewRecord, before: ViewRecord): Unit = {
    val old = target.writer(session)
    StartedQueries.stop(old)
    val named = view.properties ++ Map(Target.Writer -> query, Replacing -> name)
    target.exchange(session, before.properties.keys, named)
    try finish()
    catch {
      case NonFatal(raised) =>
        val back = Try {
          if (!isDone) target.exchange(session, named.keys, before.properties ++ old.map(Target.Writer -> _))
        }
        back.failed.foreach(raised.addSuppressed)
        throw raised
    }
  }

  /** Whether the rows are replaced. */
  private def isDone: Boolean = BatchNote.newest(session, target.name, writer)._2.isDefined

  /** Replaces the rows, unless that is done, and removes their copy. The checkpoint of the query
    * before stays until the next replacement, for one that still runs in another application: it
    * stops with an error that says why.
    */
  def finish(): Unit = {
    val (old, next) = (session.table(target.name), session.table(rows.name))
    if (target.hasColumns(next)) {
      val signed = this.signed(next.select(old.columns.map(name => col(quoteIdentifier(name))).toSeq: _*), 1)
        .unionAll(this.signed(old, -1))
      new ApplyChanges(target, None, Some(writer), shared = true)(signed, 0)
    } else overwrite(old, next)
    target.unset(session, Seq(Replacing))
    ViewFolders.keep(session, location, Set(name, numbered(number(name) - 1)))
  }

  /** The writer of the one commit that replaces the rows. */
  private def writer: String = s"replacement-$query"

  private def query: String = new CheckpointLogs(session, checkpoint).query

  /** Writes all rows, with their columns. Partitioning, clustering and comments of columns stay as
    * far as the columns do.
    */
  private def overwrite(old: DataFrame, rows: DataFrame): Unit = {
    val comments = old.schema.flatMap(field => field.getComment().map(field.name -> _)).toMap
    val described = rows.select(rows.columns.toSeq.map { name =>
      val comment = comments.get(name).map(new MetadataBuilder().putString("comment", _).build())
      comment.fold(col(quoteIdentifier(name)))(col(quoteIdentifier(name)).as(name, _))
    }: _*)
    val partitions = target.detail(session).partitionColumns.filter(rows.columns.contains)
    val clustering = session.sql(s"DESCRIBE DETAIL ${target.name}").select("clusteringColumns").head()
      .getSeq[String](0).filter(rows.columns.contains)
    described.write.format("delta").mode(SaveMode.Overwrite).option("overwriteSchema", true)
      .option("txnAppId", writer).option("txnVersion", 0).option("userMetadata", BatchNote(writer, 0, None).text(None))
      .partitionBy(partitions: _*).save(location)
    if (clustering.nonEmpty) {
      val _ = session.sql(s"ALTER TABLE ${target.name} CLUSTER BY (${clustering.map(quoteIdentifier).mkString(", ")})")
    }
  }

  private def signed(df: DataFrame, weight: Long): DataFrame = df.withColumn("_weight", lit(weight))
}

private[views] object Replacement {

  /** The property of a table whose rows are still to be replaced. */
  private val Replacing = "joinless.replacing"

  /** A replacement with folders of its own. The folders of all others are removed, except the
    * checkpoint of the view.
    */
  def apply(session: SparkSession, target: Target, location: String, view: ViewRecord): Replacement = {
    val present = view.checkpoint.getOrElse(ViewRecord.Folder)
    ViewFolders.keep(session, location, Set(present))
    new Replacement(session, target, location.stripSuffix("/"), numbered(number(present) + 1))
  }

  /** The replacement that a table has begun to switch to; None if it has not. */
  def begun(session: SparkSession, target: Target, there: Option[DeltaDetail]): Option[Replacement] = for {
    detail <- there
    name <- detail.properties.get(Replacing)
  } yield new Replacement(session, target, detail.location.stripSuffix("/"), name)

  /** The settings by which a new checkpoint has so many cells. */
  private def ofCells(cells: Int): Map[String, String] = {
    val placement = "spark.joinless.placement"
    Map(
      "spark.sql.shuffle.partitions" -> cells.toString,
      s"$placement.maxCells" -> cells.toString,
      s"$placement.shares" -> ""
    )
  }

  /** The number of a checkpoint in the folder of its table; 1 for the first, and for one elsewhere.
    */
  private def number(checkpoint: String): Int =
    checkpoint.stripPrefix(s"${ViewRecord.Folder}_").toIntOption.filter(numbered(_) == checkpoint).getOrElse(1)

  private def numbered(number: Int): String =
    if (number == 1) ViewRecord.Folder else s"${ViewRecord.Folder}_$number"
}
