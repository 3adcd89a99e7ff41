package io.joinless.spark.views

import java.util

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.source.ResultSource
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.connector.catalog.{Table, TableCapability}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.types.StructType

/** The format `joinless`. Reading gives the complete result of a query ([[ResultSource]]). A
  * streaming query of changes writes to it: `changes.writeStream.format("joinless")` keeps a Delta
  * table equal to the result, wherever streams are started from: Spark Connect, pipelines, Scala.
  *
  * Options of a sink:
  *   - `into`: the table, created if it does not exist;
  *   - `key`: columns that are unique in the result, with commas between them; without it the table
  *     is a bag.
  */
final class JoinlessFormat extends ResultSource {
  import JoinlessFormat._

  /** Spark asks for a table before it asks for a sink, with the columns that will be written. They
    * are checked; the table can do nothing. Changes without `into` are written, not read.
    */
  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = {
    val options = properties.asScala.toMap
    if (CaseInsensitiveMap(options).contains(Into)) {
      val session = SparkSession.active
      view(session, options).check(session, schema)
      new NoTable(schema)
    } else if (schema.fieldNames.exists(name => DeltaForm.all.exists(_.column == name))) throw notSink
    else super.getTable(schema, partitioning, properties)
  }

  override protected def sink(
      session: SparkSession,
      options: Map[String, String]
  ): (String, (DataFrame, Long) => Unit) = {
    val kept = view(session, options)
    s"joinless[${kept.into}]" -> kept.apply
  }

  private def view(session: SparkSession, options: Map[String, String]): SinkView = {
    if (!Inspection.hasExtension(session)) throw JoinlessErrors.extensionNotInstalled()
    val found = CaseInsensitiveMap(options)
    options.toSeq.sorted.foreach { case (option, value) =>
      if (!known.exists(_.equalsIgnoreCase(option))) throw JoinlessErrors.unknownOption(option, value, offered)
    }
    val into = found.get(Into).map(_.trim).filter(_.nonEmpty).getOrElse(throw notSink)
    val key = found.get(Key).toSeq.flatMap(_.split(",")).map(_.trim).filter(_.nonEmpty)
    new SinkView(into, key)
  }
}

private object JoinlessFormat {
  private val Into = "into"
  private val Key = "key"
  private val offered = Seq(Into, Key)
  private val known = offered ++ Seq("checkpointLocation", "path", "queryName")
}

/** A table that can neither be read nor written. */
final private class NoTable(rows: StructType) extends Table {

  override def name: String = "joinless"

  override def schema: StructType = rows

  override def capabilities: util.Set[TableCapability] = util.EnumSet.noneOf(classOf[TableCapability])
}
