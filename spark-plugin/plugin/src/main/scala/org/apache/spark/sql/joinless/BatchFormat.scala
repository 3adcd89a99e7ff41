package org.apache.spark.sql.joinless

import org.apache.spark.sql.execution.streaming.{Sink, Source}
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, StreamSinkProvider, StreamSourceProvider}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, SQLContext, SaveMode, SparkSession}

/** A format that is no stream, and a sink only where it says so, and reports this itself. Spark
  * looks for these providers, and reports missing classes if they are absent. `Source` and `Sink`
  * are internal to Spark's streaming.
  */
trait BatchFormat extends StreamSourceProvider with StreamSinkProvider with CreatableRelationProvider {

  /** The error for reading it as a stream. */
  protected def notStream: Throwable

  /** The error for writing to it. */
  protected def notSink: Throwable

  /** What a streaming query with these options writes to, as plans call it, and the function that
    * gets each batch and its number; by default the error.
    */
  protected def sink(session: SparkSession, options: Map[String, String]): (String, (DataFrame, Long) => Unit) =
    throw notSink

  final override def sourceSchema(
      context: SQLContext,
      schema: Option[StructType],
      provider: String,
      parameters: Map[String, String]
  ): (String, StructType) = throw notStream

  final override def createSource(
      context: SQLContext,
      metadata: String,
      schema: Option[StructType],
      provider: String,
      parameters: Map[String, String]
  ): Source = throw notStream

  final override def createSink(
      context: SQLContext,
      parameters: Map[String, String],
      partitions: Seq[String],
      mode: OutputMode
  ): Sink = {
    val (description, write) = sink(context.sparkSession, parameters)
    new ViewSink(description, write)
  }

  final override def createRelation(
      context: SQLContext,
      mode: SaveMode,
      parameters: Map[String, String],
      data: DataFrame
  ): BaseRelation = throw notSink
}
