package io.joinless.spark.tables

import scala.collection.mutable

import io.joinless.spark.changes.ResolveDeltaOutput
import io.joinless.spark.errors.{JoinlessErrors, TableErrors}
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.marks.{KeyedRows, ReadOnce, SampleOf}
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.joinless.{CheckpointLogs, DeltaDetail, Plans, QueryTexts, TableLeaf}
import org.apache.spark.sql.{DataFrame, SparkSession}

/** Tables as they change, and queries over them in SQL.
  *
  * A query is analyzed as batch SQL, so its names mean what they mean there: common table
  * expressions and temporary views first, stored views as they are defined. Then each read of a
  * Delta table's latest version is replaced by the table's changes. Streams stay as they are, and
  * so does a version that the query names. [[at]] reads the versions that a batch has read instead,
  * which gives the rows that a view must have.
  */
object QueryOverTables {

  /** The table of this name as it changes. */
  def table(session: SparkSession, name: String): DataFrame = in(session)(TableChanges(session, name))

  /** The query over the tables that it names, as they change.
    *
    * @param named relations that the query calls by these names
    * @param database of names without one; None for the current one
    */
  def query(
      session: SparkSession,
      text: String,
      named: Map[String, DataFrame],
      database: Option[String] = None
  ): DataFrame = in(session) {
    val plan = analyzed(session, text, named, database)
    val changes = mutable.Map.empty[String, LogicalPlan]
    val over = QueryTexts.replaced(plan) {
      case leaf @ TableLeaf(table) if !table.pinned =>
        val relation = changes.getOrElseUpdate(table.name, Plans.analyzed(TableChanges(session, table.name)))
        replaced(leaf, table.name, relation)
    }
    val changing = over.collectFirstWithSubqueries { case node if node.isStreaming => node }
    if (changing.isEmpty) throw TableErrors.nothingChanges(text)
    Plans.dataFrame(session, if (over.isStreaming) over else ReadOnce(over))
  }

  /** The result of the query when a batch of a checkpoint ends: batch SQL over the versions of the
    * tables that the batch has read.
    *
    * @param database of names without one
    */
  def at(session: SparkSession, text: String, database: Option[String], checkpoint: String, batch: Long): DataFrame =
    in(session) {
      val plan = analyzed(session, text, Map.empty, database)
      if (plan.isStreaming) throw TableErrors.verifyStream(text)
      if (plan.exists(_.isInstanceOf[SampleOf])) throw TableErrors.verifySample(text)
      val logs = new CheckpointLogs(session, checkpoint)
      val read = VersionsRead(logs, batch)
        .getOrElse(throw JoinlessErrors.batchNotAvailable(batch, checkpoint, logs.batches))
      read.static.changed(StaticVersions.now(session, plan)).headOption
        .foreach(table => throw TableErrors.verifyStatic(table))
      val over = QueryTexts.replaced(plan) {
        case leaf @ TableLeaf(table) if !table.pinned =>
          replaced(leaf, table.name, atVersion(session, table.name, read))
      }
      Plans.dataFrame(session, KeyedRows.removed(over))
    }

  /** What has become of the query's tables since a batch of a checkpoint.
    *
    * @param database of names without one
    */
  def since(
      session: SparkSession,
      text: String,
      database: Option[String],
      checkpoint: String,
      batch: Long
  ): TablesSince = in(session) {
    val plan = analyzed(session, text, Map.empty, database)
    val read = VersionsRead(new CheckpointLogs(session, checkpoint), batch)
    val tables = plan.collectWithSubqueries { case TableLeaf(table) if !table.pinned => table.name }
    val commits = tables.distinct.map { name =>
      val newest = session.sql(s"DESCRIBE HISTORY $name LIMIT 1").select("version").head().getLong(0)
      val versions = read.toSeq.flatMap(_.of(idOf(session, name))).map(_.version)
      name -> versions.map(newest - _).maxOption.getOrElse(newest + 1)
    }
    TablesSince(commits.toMap, read.toSeq.flatMap(_.static.changed(StaticVersions.ofFiles(plan))))
  }

  private def idOf(session: SparkSession, table: String): String =
    DeltaDetail.described(session, table).fold(format => throw TableErrors.tableFormat(table, format), _.id)

  /** The rows of a table at the version that a batch has read. */
  private def atVersion(session: SparkSession, name: String, read: VersionsRead): LogicalPlan = {
    Plans.analyzed(read.of(idOf(session, name)) match {
      case Seq(VersionRead(_, version, false)) => session.sql(s"SELECT * FROM $name VERSION AS OF $version")
      case Seq() if read.someEmpty => session.table(name).limit(0)
      case Seq() => throw TableErrors.verifyReplaced(name)
      case several if several.exists(_.begins) => throw TableErrors.verifyFirstRows(name)
      case several => throw TableErrors.verifyVersions(name, several.map(_.version))
    })
  }

  /** The changes of a table in place of its rows: the query's columns, the hidden ones that it reads
    * included, are found by name.
    */
  private def replaced(leaf: LogicalPlan, table: String, changes: LogicalPlan): LogicalPlan =
    Project(
      leaf.output.map { column =>
        val found = changes.output.find(_.name == column.name)
          .getOrElse(throw TableErrors.tableColumn(table, column.name))
        Alias(found, column.name)(column.exprId, column.qualifier, Some(column.metadata))
      },
      changes
    )

  /** The query as batch SQL, in which the marks of Joinless may stand above tables. */
  private def analyzed(
      session: SparkSession,
      text: String,
      named: Map[String, DataFrame],
      database: Option[String]
  ): LogicalPlan = ResolveDeltaOutput
    .overTables(QueryTexts.analyzed(session, text, named, database))
    .getOrElse(throw TableErrors.notAQuery(text))

  private def in[A](session: SparkSession)(query: => A): A = {
    if (!Inspection.hasExtension(session)) throw JoinlessErrors.extensionNotInstalled()
    Inspection.within(session)(query)
  }
}

/** What has become of a query's tables since it has read them.
  *
  * @param commits of each Delta table that the query has not read
  * @param changed the static tables whose files have changed
  */
final case class TablesSince(commits: Map[String, Long], changed: Seq[String])
