package io.joinless.spark.batches

import java.util.concurrent.ConcurrentHashMap

import io.joinless.spark.TestFolders
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.BatchForms
import org.apache.spark.sql.streaming.{OutputMode, StateOperatorProgress, StreamingQuery, StreamingQueryProgress}
import org.apache.spark.sql.{DataFrame, Row}

/** A streaming query that a test plays batch by batch: rows of its streams in, rows of its result
  * out, with restarts.
  *
  * @param streams all that the query may read
  * @param query made anew for each run, over the streams
  */
final class PlayedQuery(
    streams: Seq[PlayedStream[_ <: Product]],
    way: PlayedQuery.Way,
    mode: OutputMode = OutputMode.Append(),
    readTwice: Boolean = false,
    val checkpoint: String = PlayedQuery.newCheckpoint()
)(query: => DataFrame) {
  import PlayedQuery._

  private[this] val run: Run = way match {
    case AsBatches(seed) => new Batches(seed)
    case AsStream => new Stream
  }

  /** Sends the waiting rows of all streams.
    *
    * @return the batches that they cause: none if the query reads none of them; the last ones may
    *   have no rows
    */
  def next(): Seq[Batch] = run.next()

  /** Another run continues the checkpoint. */
  def restart(): Unit = run.restart()

  def close(): Unit = run.close()

  private trait Run {
    def next(): Seq[Batch]
    def restart(): Unit
    def close(): Unit
  }

  final private class Batches(seed: Option[Long]) extends Run {
    private[this] val forms = {
      val session = streams.head.toDF.sparkSession
      seed.fold(BatchForms.scans(session))(BatchForms.random(session, _))
    }
    private[this] val batches = new MicroBatches(forms.session, query, checkpoint, forms, mode)

    override def next(): Seq[Batch] = {
      val rows: Seq[Seq[Product]] = streams.map(_.take())
      val arrived = streams.map(_.memory: MemoryStream[_]).zip(rows).filter(_._2.nonEmpty).toMap
      if (!batches.reads(arrived.keySet)) Nil
      else
        batches.playRows(arrived.map { case (stream, some) => stream -> some.map(Row.fromTuple) }, readTwice)
          .zipWithIndex.map { case (batch, i) =>
            val arrived = if (i == 0) rows else rows.map(_ => Nil)
            Batch(batch.number, batch.watermarkMs, batch.rows, batch.operators, arrived)
          }
    }

    override def restart(): Unit = batches.restart()
    override def close(): Unit = batches.close()
  }

  final private class Stream extends Run {
    private[this] val emitted = new ConcurrentHashMap[Long, Seq[Row]]
    private[this] var seen = -1L
    private[this] var running = start()

    override def next(): Seq[Batch] = {
      streams.foreach(_.send())
      running.processAllAvailable()
      // Spark repeats reports while a query is idle
      val done = running.recentProgress.toSeq
        .filter(progress => progress.batchId > seen && progress.durationMs.containsKey("addBatch"))
      done.lastOption.foreach(progress => seen = progress.batchId)
      done.map(batch)
    }

    private def batch(progress: StreamingQueryProgress): Batch = {
      val watermark = Option(progress.eventTime.get("watermark")).fold(0L)(java.time.Instant.parse(_).toEpochMilli)
      val arrived = streams.map { stream =>
        val ends = progress.sources.toSeq.filter(_.description == stream.memory.toString)
          .flatMap(p => Option(p.endOffset)).filter(_ != "null")
        stream.read(ends.map(_.toInt + 1).maxOption.getOrElse(0))
      }
      Batch(
        progress.batchId,
        watermark,
        Option(emitted.remove(progress.batchId)).getOrElse(Nil),
        progress.stateOperators.toSeq,
        arrived
      )
    }

    override def restart(): Unit = {
      running.stop()
      seen = -1L
      running = start()
    }

    override def close(): Unit = running.stop()

    private def start(): StreamingQuery = query.writeStream.outputMode(mode).option("checkpointLocation", checkpoint)
      .foreachBatch { (rows: DataFrame, batch: Long) =>
        if (readTwice) { val _ = rows.count() }
        val _ = emitted.put(batch, rows.collect().toSeq)
      }.start()
  }
}

object PlayedQuery {

  /** A folder that does not exist yet. */
  def newCheckpoint(): String = TestFolders.create("played").resolve("cp").toString

  /** How a query is played. What it gets and what is expected do not depend on it. */
  sealed trait Way

  /** As batches without a stream ([[MicroBatches]]).
    *
    * @param forms a seed that decides on the plans of the sources; None: scans
    */
  final case class AsBatches(forms: Option[Long] = None) extends Way

  /** As a stream of Spark's. */
  case object AsStream extends Way

  /** @param watermarkMs by which rows of later batches are late
    * @param arrived the rows that it has read, per stream
    */
  final case class Batch(
      number: Long,
      watermarkMs: Long,
      rows: Seq[Row],
      operators: Seq[StateOperatorProgress],
      arrived: Seq[Seq[Product]]
  )
}
