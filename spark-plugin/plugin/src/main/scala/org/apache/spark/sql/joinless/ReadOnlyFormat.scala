package org.apache.spark.sql.joinless

import org.apache.spark.sql.execution.streaming.{Sink, Source}
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, StreamSinkProvider, StreamSourceProvider}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, SQLContext, SaveMode}

/** A format that is neither a stream nor a sink, and reports this itself: Spark looks for these
  * providers, and reports missing classes if they are absent. `Source` and `Sink` are internal to
  * Spark's streaming.
  */
trait ReadOnlyFormat extends StreamSourceProvider with StreamSinkProvider with CreatableRelationProvider {

  /** The error for reading it as a stream. */
  protected def notStream: Throwable

  /** The error for writing to it. */
  protected def notSink: Throwable

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
  ): Sink = throw notSink

  final override def createRelation(
      context: SQLContext,
      mode: SaveMode,
      parameters: Map[String, String],
      data: DataFrame
  ): BaseRelation = throw notSink
}
