package io.joinless.spark.time

import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.joinless.spark.TestFolders
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, Row, SparkSession, classic}

/** Runs a query as a real streaming one, with restarts, and compares each batch with nested loops.
  *
  * The streams are sources of their own, so some are idle. The query's progress gives the rows of a
  * batch, and its watermark.
  */
final class TimeBoundedRun(session: SparkSession, query: TimeBoundedQuery) {
  import TimeBoundedRun._

  implicit private val rows: Encoder[Stored] = Encoders.product[Stored]
  private[this] val sources =
    (0 until query.streams).map(_ => MemoryStream[Stored](rows, session.asInstanceOf[classic.SparkSession]))
  private[this] val checkpoint = TestFolders.create("time").toString
  private[this] val emitted = new ConcurrentHashMap[Long, Seq[Row]]
  private[this] val newBatches = new NewBatches
  private[this] val taken = Array.fill(query.streams)(0) // rows of each stream that were in batches so far
  private[this] val sent = Array.fill(query.streams)(mutable.ArrayBuffer.empty[Event])
  private[this] val kept = Array.fill(query.streams)(mutable.ArrayBuffer.empty[Event]) // those that were not late
  private[this] var results = Set.empty[Seq[Long]]
  private[this] var late = 0L // watermark, in milliseconds, of the batch before
  private[this] var (lateRows, forgotten, batches, emptyBatches) = (0, 0L, 0, 0)

  def summary: String =
    s"$batches batches, ${results.size} results, $lateRows late rows, $forgotten forgotten, ${kept.map(_.size).sum} not late"

  def play(): Unit = {
    val confs = Seq(
      "spark.sql.shuffle.partitions" -> query.partitions.toString,
      "spark.sql.streaming.stateStore.providerClass" -> ("org.apache.spark.sql.execution.streaming.state." +
        (if (query.rocksDb) "RocksDBStateStoreProvider" else "HDFSBackedStateStoreProvider")),
      "spark.joinless.minRelations" -> "2",
      "spark.joinless.mode" -> "force",
      "spark.sql.streaming.multipleWatermarkPolicy" -> (if (query.maxPolicy) "max" else "min")
    )
    val before = confs.map { case (key, _) => key -> session.conf.getOption(key) }
    confs.foreach { case (key, value) => session.conf.set(key, value) }
    try batchByBatch()
    finally before.foreach { case (key, value) => value.fold(session.conf.unset(key))(session.conf.set(key, _)) }
  }

  private def batchByBatch(): Unit = {
    var running = start()
    try
      for ((batch, i) <- query.batches.zipWithIndex) {
        for ((events, s) <- batch.zipWithIndex if events.nonEmpty) {
          sent(s) ++= events
          sources(s).addData(events.map(e => Stored(e.k, e.j, e.ts, e.v)): _*)
        }
        running.processAllAvailable()
        check(running)
        if (query.restartAfter(i)) {
          running.stop()
          running = start()
        }
      }
    finally running.stop()
  }

  private def start(): StreamingQuery = {
    for ((source, i) <- sources.zipWithIndex) {
      val events = source.toDF().withWatermark("ts", s"${query.delays(i)} seconds")
      val windowed =
        if (query.hasWindow(i)) events.selectExpr("k", "j", "window(ts, '10 seconds') AS w", "v") else events
      windowed.createOrReplaceTempView(s"s$i")
    }
    newBatches.begin()
    session.sql(query.sql).writeStream
      .foreachBatch { (df: DataFrame, id: Long) =>
        val rows = df.collect().toSeq
        if (query.twice) require(df.collect().toSet == rows.toSet, s"batch $id has other rows the second time")
        val _ = emitted.put(id, rows)
      }
      .option("checkpointLocation", checkpoint)
      .start()
  }

  private def check(running: StreamingQuery): Unit = newBatches.foreach(running)(check)

  private def check(progress: StreamingQueryProgress): Unit = {
    batches += 1
    val watermark = millis(progress.eventTime.get("watermark"))
    var arrived = 0
    for ((source, s) <- progress.sources.zipWithIndex; _ <- 0L until source.numInputRows) {
      val event = sent(s)(taken(s))
      taken(s) += 1
      arrived += 1
      if (query.hasTime(s) && event.second.exists(second => 1000L * query.lateness(s, second) <= late)) lateRows += 1
      else kept(s) += event
    }
    val now = join()
    val expected = now -- results
    val rows = emitted.get(progress.batchId).map(row => row.toSeq.map(_.asInstanceOf[Long]))
    require(
      rows.size == rows.toSet.size && rows.toSet == expected, {
        s"batch ${progress.batchId}: emitted ${rows.toSet.diff(expected)} too many, ${expected.diff(rows.toSet)} too few"
      }
    )
    results = now

    val operator = progress.stateOperators.find(_.operatorName == "joinFree")
      .getOrElse(throw new IllegalArgumentException(s"not ours: $progress"))
    val stored = (0 until query.streams).map(s => kept(s).count(isNeeded(s, _, watermark)))
    val figures = operator.customMetrics.asScala
    // if the bounds contradict each other, no rows are needed, and there are no results; several
    // cells have rows more than once
    val contradictory = most.indices.exists(i => most(i)(i) < 0)
    require(
      contradictory || operator.numRowsTotal == stored.sum || query.partitions > 1 && operator.numRowsTotal > stored.sum,
      s"batch ${progress.batchId}: ${operator.numRowsTotal} rows stored, the bounds need ${stored.mkString(" + ")}"
    )
    require(
      figures("logRows") <= 2 * operator.numRowsTotal,
      s"${figures("logRows")} entries for ${operator.numRowsTotal} rows"
    )
    forgotten += figures("rowsForgotten")
    if (arrived == 0 && progress.batchId > 0) {
      emptyBatches += 1
      require(figures("rowsForgotten") > 0, s"batch ${progress.batchId} has neither rows nor anything to forget")
    }
    late = watermark
  }

  /** The greatest difference by which a stream's time can be later than another's: by relaxing
    * until nothing changes.
    */
  private[this] val most: Array[Array[Long]] = {
    val d = Array.fill(query.streams, query.streams)(Long.MaxValue / 4)
    for (i <- d.indices) d(i)(i) = 0
    for (b <- query.bounds) {
      // of whole seconds; a strict comparison in microseconds is shorter by one microsecond
      val strict = if (!b.strict) 0L else if (b.text == 4) 1000000L else 1L
      val slack = if (b.text == 4) 999999L else 0L
      d(b.later)(b.earlier) = math.min(d(b.later)(b.earlier), 1000000L * b.most - strict + slack)
    }
    for ((a, b) <- query.windows) { d(a)(b) = math.min(d(a)(b), 0); d(b)(a) = math.min(d(b)(a), 0) }
    for (_ <- d.indices; i <- d.indices; j <- d.indices; k <- d.indices) d(i)(j) = math.min(d(i)(j), d(i)(k) + d(k)(j))
    d
  }

  private def isNeeded(stream: Int, event: Event, watermark: Long): Boolean = {
    val others = (0 until query.streams).filter(_ != stream)
    val bounded = others.forall(s => most(s)(stream) < Long.MaxValue / 8)
    // if a condition names its time, a row without one is not stored
    if (!bounded) event.second.isDefined || !query.hasTime(stream)
    else event.second.exists { second =>
      others.exists(s => 1000000L * query.lateness(stream, second) + most(s)(stream) > 1000L * watermark)
    }
  }

  private def join(): Set[Seq[Long]] = {
    def combine(s: Int): Iterator[List[Event]] =
      if (s < 0) Iterator(Nil)
      else combine(s - 1).flatMap(rows => kept(s).iterator.map(e => rows :+ e)).filter { rows =>
        TimeBoundedRun.prefix(query, s).accepts(rows)
      }
    combine(query.streams - 1).map(_.map(_.v)).toSet
  }
}

private object TimeBoundedRun {

  final case class Stored(k: Int, j: Int, ts: java.sql.Timestamp, v: Long)

  /** The conditions on the first streams only. */
  def prefix(query: TimeBoundedQuery, last: Int): TimeBoundedQuery = query.copy(
    keys = query.keys.filter { case (a, b, _) => math.max(a, b) <= last },
    bounds = query.bounds.filter(b => math.max(b.later, b.earlier) <= last),
    windows = query.windows.filter { case (a, b) => math.max(a, b) <= last }
  )

  def millis(time: String): Long = if (time == null) 0L else java.time.Instant.parse(time).toEpochMilli
}
