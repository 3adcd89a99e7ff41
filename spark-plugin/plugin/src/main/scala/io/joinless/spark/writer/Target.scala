package io.joinless.spark.writer

import scala.util.Try

import io.joinless.spark.errors.{JoinlessAnalysisException, TargetErrors}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.quoteIdentifier
import org.apache.spark.sql.functions._
import org.apache.spark.sql.joinless.{DeltaDetail, Plans, SqlTexts, StreamLeaf}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.{AnalysisException, DataFrame, SparkSession}

/** A Delta table to which changes are applied, and what must hold before a row is written.
  *
  * @param name as statements use it
  */
final private[spark] case class Target(name: String) {
  import Target._

  def error(what: String, parameters: (String, String)*): JoinlessAnalysisException =
    TargetErrors.of(what, name, parameters: _*)

  def error(what: String, cause: Throwable, parameters: (String, String)*): JoinlessAnalysisException =
    TargetErrors.caused(what, name, Some(cause), parameters: _*)

  /** What Delta says of the table; None if there is none. Fails if it is no Delta table. */
  def found(session: SparkSession): Option[DeltaDetail] =
    try if (session.table(name).columns.nonEmpty) Some(detail(session)) else None
    catch {
      case raised: ParseException => throw error("TARGET_NAME", raised)
      case ours: JoinlessAnalysisException => throw ours
      case _: AnalysisException => None
    }

  /** What Delta says of the table. Fails if it is no Delta table. */
  def detail(session: SparkSession): DeltaDetail = {
    val described =
      try DeltaDetail.described(session, name)
      catch {
        case raised: AnalysisException => throw error("TARGET_NOT_DELTA", raised, "format" -> "not known to Delta")
      }
    described.fold(format => throw error("TARGET_NOT_DELTA", "format" -> format), identity)
  }

  /** Whether the table holds no row. Without files that is known without a job. */
  def isEmpty(session: SparkSession): Boolean =
    detail(session).files.contains(0L) || session.table(name).isEmpty

  // -- columns ------------------------------------------------------------------------------------

  /** The columns of changes, without the one that says what changes. Fails if there is none of
    * these, or there are two.
    */
  private def columnsOfChanges(schema: StructType): Seq[StructField] = {
    TargetColumns.noWeight(schema).foreach { dataType =>
      throw error("UNKNOWN_CHANGE_TYPE", "found" -> s"a weight of type ${dataType.sql}")
    }
    if (Seq(NetChanges.ChangeType, NetChanges.Weight).count(schema.fieldNames.contains) != 1)
      throw error("NO_CHANGES", "columns" -> schema.fieldNames.mkString(", "))
    ofChanges(schema)
  }

  /** The columns of a batch by the target's names, in the order of the batch. */
  def columns(df: DataFrame): Seq[StructField] = {
    val (fold, given) = (TargetColumns.folding(df.sparkSession), columnsOfChanges(df.schema))
    checkTypes(given)
    val table = schema(df)
    if (!TargetColumns.fit(fold, given, table))
      throw error("COLUMNS_DIFFER", "result" -> TargetColumns.ddl(given), "columns" -> TargetColumns.ddl(table))
    TargetColumns.notNull(fold, given, table).foreach { field =>
      throw error("NOT_NULL_PART", "column" -> field.name, "type" -> field.dataType.sql)
    }
    TargetColumns.padded(table).foreach { case (column, declared) =>
      throw error("PADDED_TYPE", "column" -> column, "type" -> declared)
    }
    val names = table.map(field => fold(field.name) -> field.name).toMap
    given.map(field => field.copy(name = names(fold(field.name))))
  }

  /** Whether the table and a batch have columns of the same names and types. */
  def hasColumns(df: DataFrame): Boolean =
    TargetColumns.fit(TargetColumns.folding(df.sparkSession), ofChanges(df), schema(df))

  /** Fails if no table can have the columns of these changes, or they lack one of the key. */
  def checkNew(session: SparkSession, changes: StructType, key: Seq[String]): Unit = {
    val columns = columnsOfChanges(changes)
    val _ = keyOf(session, key, columns.map(_.name))
    checkTypes(columns)
    TargetColumns.unnamed(columns).foreach(field => throw error("COLUMN_NAME", "column" -> field.name))
  }

  /** The positions of the columns of the key. */
  def keyOf(session: SparkSession, key: Seq[String], names: Seq[String]): Seq[Int] = {
    val fold = TargetColumns.folding(session)
    val folded = names.map(fold)
    val unknown = key.filterNot(name => folded.contains(fold(name)))
    if (unknown.nonEmpty)
      throw error("UNKNOWN_KEY", "key" -> unknown.mkString(", "), "columns" -> names.mkString(", "))
    key.map(name => folded.indexOf(fold(name)))
  }

  private def checkTypes(columns: Seq[StructField]): Unit = TargetColumns.incomparable(columns).foreach { field =>
    throw error("UNSUPPORTED_TYPE", "column" -> field.name, "type" -> field.dataType.catalogString)
  }

  private def schema(df: DataFrame): StructType =
    try df.sparkSession.table(name).schema
    catch {
      case raised: AnalysisException =>
        throw error("TARGET_NOT_FOUND", raised, "columns" -> TargetColumns.ddl(ofChanges(df)))
    }

  /** Fails if the query of these changes reads the table, by its name or by its folder.
    *
    * @param there what `found` returns
    */
  def checkNotRead(changes: DataFrame, there: DeltaDetail): Unit =
    checkNotRead(changes.sparkSession, Plans.analyzed(changes), there)

  /** The same of the plan of a query. */
  def checkNotRead(session: SparkSession, query: LogicalPlan, there: DeltaDetail): Unit = {
    val fold = TargetColumns.folding(session)
    val folder = plain(there.location)
    def isHere(place: String) = plain(place) == folder || there.name.exists(fold(_) == fold(place))
    // a table that is known by its path may be read by a name
    def location(place: String) = if (there.name.isDefined || plain(place).startsWith("/")) None
    else Try(Target(place.split("\\.").map(quoteIdentifier).mkString(".")).detail(session).location).toOption
    if (StreamLeaf.places(query).exists(place => isHere(place) || location(place).exists(isHere)))
      throw error("TARGET_IS_READ")
  }

  // -- properties ---------------------------------------------------------------------------------

  /** Sets properties of the table, and then removes those of `old` that are not among them. */
  def exchange(session: SparkSession, old: Iterable[String], properties: Map[String, String]): Unit = {
    val _ = session.sql(s"ALTER TABLE $name SET TBLPROPERTIES ${SqlTexts.properties(properties)}")
    unset(session, old.filterNot(properties.contains))
  }

  /** Removes properties of the table. */
  def unset(session: SparkSession, properties: Iterable[String]): Unit = if (properties.nonEmpty) {
    val listed = properties.map(SqlTexts.literal).mkString(", ")
    val _ = session.sql(s"ALTER TABLE $name UNSET TBLPROPERTIES IF EXISTS ($listed)")
  }

  /** Records in the table that this writer fills it, if the table is empty. A writer that found it
    * empty before and is alive detects that by `checkWriter`. A table that holds rows is left
    * alone: its commit refuses it, or skips a batch that runs again.
    */
  def claim(session: SparkSession, appId: String): Unit =
    if (!writer(session).contains(appId) && isEmpty(session)) exchange(session, Nil, Map(Writer -> appId))

  /** Fails if another writer has found the table empty since this one did, or if this writer never
    * began with the table: it is another table, or was created anew. Outside of streams it is
    * unknown whether batch 0 has run.
    */
  def checkWriter(session: SparkSession, note: BatchNote): Unit = writer(session) match {
    case None if note.planned.isDefined =>
      throw error("TARGET_REPLACED", "batch" -> note.batch.toString, "app_id" -> note.writer)
    case Some(other) if other != note.writer => throw error("TARGET_TAKEN", "writer" -> other, "app_id" -> note.writer)
    case _ => ()
  }

  /** The writer that the table names; None if only shared writers began it. */
  def writer(session: SparkSession): Option[String] = detail(session).properties.get(Writer)

  // -- rows ---------------------------------------------------------------------------------------

  /** Fails if the table holds a later batch of this writer, or another one of this number. Then the
    * checkpoint is older than the one that filled the table, and Delta would skip the batch as a
    * repetition.
    */
  def checkBatch(session: SparkSession, note: BatchNote): Unit =
    BatchNote.newest(session, name, note.writer)._2.filter(_.batch >= note.batch).foreach { last =>
      if (last != note)
        throw error(
          "CHECKPOINT_BEHIND",
          "newest" -> last.batch.toString,
          "batch" -> note.batch.toString,
          "app_id" -> note.writer
        )
    }

  /** Fails if two rows have the same key. */
  def checkKey(session: SparkSession, key: Seq[String]): Unit = {
    val columns = key.map(name => col(quoteIdentifier(name)))
    val twice = session.table(name).groupBy(columns: _*).count().where("count > 1").limit(1)
    twice.select(Refusals.json(struct(columns: _*)), col("count")).collect().foreach { row =>
      val found = s"${row.getLong(1)} rows of the target"
      throw error("KEY_NOT_UNIQUE", "key" -> row.getString(0), "found" -> found)
    }
  }
}

private[spark] object Target {

  /** The property of a target that names the writer which found it empty: the app id of its
    * commits.
    */
  val Writer = "joinless.writer"

  /** The columns whose changes are emitted. */
  def ofChanges(df: DataFrame): Seq[StructField] = ofChanges(df.schema)

  private def ofChanges(schema: StructType): Seq[StructField] =
    schema.filterNot(field => field.name == NetChanges.ChangeType || field.name == NetChanges.Weight)

  private def plain(path: String): String = path.stripPrefix("file:").stripSuffix("/")
}
