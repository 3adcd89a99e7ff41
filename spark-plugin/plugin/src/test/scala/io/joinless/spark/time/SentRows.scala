package io.joinless.spark.time

import scala.collection.mutable

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamingQueryProgress

/** The rows that were sent to streams of a query, and which of them its batches have read so far,
  * by its reports.
  */
final private[time] class SentRows[A](streams: Seq[MemoryStream[_]]) {
  private[this] val sent = streams.map(_ => mutable.ArrayBuffer.empty[Seq[A]]) // by number of the addition
  private[this] val taken = Array.fill(streams.size)(0)

  /** One addition to a stream. */
  def add(stream: Int, rows: Seq[A]): Unit = sent(stream) += rows

  /** The rows of the next batch, per stream. */
  def next(progress: StreamingQueryProgress): Seq[Seq[A]] =
    streams.map(_.toString).zipWithIndex.map { case (stream, s) =>
      val ends =
        progress.sources.toSeq.filter(_.description == stream).flatMap(p => Option(p.endOffset)).filter(_ != "null")
      val until = ends.map(_.toInt + 1).maxOption.fold(taken(s))(math.max(taken(s), _))
      val rows = sent(s).slice(taken(s), until).flatten.toSeq
      taken(s) = until
      rows
    }
}
