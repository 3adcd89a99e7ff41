package io.joinless.spark.source

import java.util

import scala.jdk.CollectionConverters._

import io.joinless.spark.checkpoint.CommittedState
import io.joinless.spark.errors.{JoinlessErrors, Suggestion}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.joinless.BatchFormat
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** `spark.read.format("joinless")`: the complete current result of a join, read from its
  * checkpoint.
  *
  * Options:
  *   - `checkpointLocation` (or the path given to `load`): the streaming query's checkpoint,
  *     running or not;
  *   - `batchId`: an older committed batch instead of the last one;
  *   - `operator`: the number of the join's stateful operator, if the query has several joins;
  *   - `inputs`: instead of the result, the rows that are stored of all relations (`true`), or of
  *     the one that is named ([[InputsTable]]).
  *
  * `load()` chooses the batch; each action on the DataFrame then reads that batch.
  */
class ResultSource extends TableProvider with DataSourceRegister with BatchFormat {
  import ResultSource._

  private var loaded: Option[(util.Map[String, String], Table)] = None

  override def shortName(): String = "joinless"

  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    schemaOf(table(options))

  /** The table, if `schema` is that of its rows; else a table whose reads say what the rows are. */
  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val opened = table(new CaseInsensitiveStringMap(properties))
    val (requested, present) = (columns(schema), columns(schemaOf(opened)))
    if (requested == present) opened else new OtherColumns(schema, present)
  }

  /** True: `getTable` gets a schema that the user gives, or the schema of rows to be written. */
  override def supportsExternalMetadata(): Boolean = true

  override protected def notStream: Throwable = JoinlessErrors.format("STREAM")

  override protected def notSink: Throwable = JoinlessErrors.format("SINK")

  /** The table of one `load()`, whose two calls read the same batch. */
  private def table(options: CaseInsensitiveStringMap): Table = synchronized {
    loaded match {
      case Some((same, table)) if same == options.asCaseSensitiveMap => table
      case _ =>
        val table = opened(options)
        loaded = Some((options.asCaseSensitiveMap, table))
        table
    }
  }

  /** Opens the table that options describe: a result, or stored rows. Names of options are checked
    * first.
    */
  private def opened(options: CaseInsensitiveStringMap): Table = {
    val session = SparkSession.active
    checkNames(options)
    val checkpoint = text(options, Checkpoint).orElse(text(options, "path")).getOrElse(
      throw JoinlessErrors.invalidOption(Checkpoint, "", "it must name the checkpoint of a streaming query")
    )
    val state = CommittedState(session, checkpoint, number(options, BatchId))
    val snapshot = Snapshot(state, number(options, Operator))
    text(options, Inputs).filterNot(_.equalsIgnoreCase("false")) match {
      case None => RecordedResult.recorded(session, snapshot.ifComplete)
      case Some(all) if all.equalsIgnoreCase("true") => InputsTable(snapshot, None)
      case Some(name) =>
        val names = snapshot.spec.relations.map(_.name)
        val relation = Some(names.indexOf(name)).filter(_ >= 0).getOrElse {
          throw JoinlessErrors.invalidOption(
            Inputs,
            name,
            s"the join has the relations ${names.mkString(", ")}" + Suggestion.of(name, names).fold("")(n =>
              s"; did you mean $n?"
            )
          )
        }
        InputsTable(snapshot, Some(relation))
    }
  }
}

/** A table of columns that the result does not have. Reading it fails; a write is refused because
  * nothing can be written.
  */
final private class OtherColumns(requested: StructType, present: String) extends SupportsRead {

  override def name: String = "joinless"

  override def schema: StructType = requested

  override def capabilities: util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    throw JoinlessErrors.format("SCHEMA", "given" -> ResultSource.columns(requested), "columns" -> present)
}

object ResultSource {
  final private val Checkpoint = "checkpointLocation"
  final private val Inputs = "inputs"
  final private val BatchId = "batchId"
  final private val Operator = "operator"
  private val known = Seq(Checkpoint, BatchId, Operator, Inputs)

  /** The columns of a table as a schema. */
  private def schemaOf(table: Table): StructType =
    StructType(table.columns.map(c => StructField(c.name, c.dataType, c.nullable)))

  /** The columns of a schema as text, with their types. */
  private[source] def columns(schema: StructType): String =
    schema.map(f => s"${f.name} ${f.dataType.sql}").mkString(", ")

  /** Refuses an option that does not exist. */
  private def checkNames(options: CaseInsensitiveStringMap): Unit =
    options.asCaseSensitiveMap.asScala.toSeq.sorted.foreach { case (option, value) =>
      if (!("path" +: known).exists(_.equalsIgnoreCase(option)))
        throw JoinlessErrors.unknownOption(option, value, known)
    }

  /** The value of an option; None if it is not given, or blank. */
  private def text(options: CaseInsensitiveStringMap, key: String): Option[String] =
    Option(options.get(key)).filter(_.trim.nonEmpty)

  /** The value of an option that must be a number from 0 on. */
  private def number(options: CaseInsensitiveStringMap, key: String): Option[Long] = text(options, key).map { value =>
    value.trim.toLongOption.filter(_ >= 0).getOrElse(
      throw JoinlessErrors.invalidOption(key, value, "it must be a number from 0 on")
    )
  }
}
