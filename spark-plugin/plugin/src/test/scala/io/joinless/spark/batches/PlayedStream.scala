package io.joinless.spark.batches

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, Row, SparkSession, classic}

/** An input of a [[PlayedQuery]]: a stream in memory, and the rows that wait for the next batch. */
final class PlayedStream[A <: Product](session: SparkSession, schema: StructType) {
  private[batches] val memory: MemoryStream[Row] =
    MemoryStream[Row](session.asInstanceOf[classic.SparkSession], 2)(Encoders.row(schema))
  private[this] val waiting = mutable.ArrayBuffer.empty[A]
  private[this] val sent = mutable.ArrayBuffer.empty[Seq[A]] // by number of the addition
  private[this] var taken = 0

  /** The stream, as queries read it. */
  def toDF: DataFrame = memory.toDF()

  def add(rows: A*): Unit = waiting ++= rows

  /** Such rows as a table. (An encoder would have to be resolved for each, which takes longer than a
    * small batch.)
    */
  def table(rows: Seq[A]): DataFrame = session.createDataFrame(rows.map(Row.fromTuple).asJava, schema)

  /** Sends the waiting rows to the stream of Spark's that reads it; [[PlayedQuery]] does so. */
  def send(): Unit = if (waiting.nonEmpty) {
    sent += waiting.toSeq
    val _ = memory.addData(waiting.map(Row.fromTuple).toSeq)
    waiting.clear()
  }

  /** The rows that a query has read in a batch, which ended behind so many additions. */
  private[batches] def read(until: Int): Seq[A] = {
    val rows = sent.slice(taken, until).flatten.toSeq
    taken = math.max(taken, until)
    rows
  }

  /** The waiting rows, which the stream does not get. */
  private[batches] def take(): Seq[A] = {
    val rows = waiting.toSeq
    waiting.clear()
    rows
  }
}

object PlayedStream {

  /** With the columns of a product. */
  def of[A <: Product: Encoder](session: SparkSession): PlayedStream[A] =
    new PlayedStream(session, implicitly[Encoder[A]].schema)
}
