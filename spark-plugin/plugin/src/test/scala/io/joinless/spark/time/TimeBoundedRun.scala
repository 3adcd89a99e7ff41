package io.joinless.spark.time

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, SparkSession}

/** Plays a query, with restarts, and compares each batch with nested loops.
  *
  * The streams are sources of their own, so some are idle. The query's progress gives the rows of a
  * batch, and its watermark.
  */
final class TimeBoundedRun(session: SparkSession, query: TimeBoundedQuery, way: PlayedQuery.Way) {
  import TimeBoundedRun._

  implicit private val rows: Encoder[Stored] = Encoders.product[Stored]
  private[this] val sources = (0 until query.streams).map(_ => PlayedStream.of[Stored](session))
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
    val played = new PlayedQuery(sources, way, readTwice = query.twice)(streaming())
    try
      for ((batch, i) <- query.batches.zipWithIndex) {
        for ((events, s) <- batch.zipWithIndex)
          sources(s).add(events.map(e => Stored(e.k, e.j, e.ts, e.v)): _*)
        played.next().foreach(check)
        if (query.restartAfter(i)) played.restart()
      }
    finally played.close()
  }

  private def streaming(): DataFrame = {
    for ((source, i) <- sources.zipWithIndex) {
      val events = source.toDF.withWatermark("ts", s"${query.delays(i)} seconds")
      val windowed =
        if (query.hasWindow(i)) events.selectExpr("k", "j", "window(ts, '10 seconds') AS w", "v") else events
      windowed.createOrReplaceTempView(s"s$i")
    }
    session.sql(query.sql)
  }

  private def check(batch: PlayedQuery.Batch): Unit = {
    batches += 1
    val arrived = batch.arrived.map(_.collect { case row: Stored => row.event })
    for ((events, s) <- arrived.zipWithIndex; event <- events)
      if (query.hasTime(s) && event.second.exists(second => 1000L * query.lateness(s, second) <= late)) lateRows += 1
      else kept(s) += event
    val now = join()
    val expected = now -- results
    val rows = batch.rows.map(row => row.toSeq.map(_.asInstanceOf[Long]))
    require(
      rows.size == rows.toSet.size && rows.toSet == expected, {
        s"batch ${batch.number}: emitted ${rows.toSet.diff(expected)} too many, ${expected.diff(rows.toSet)} too few"
      }
    )
    results = now

    val operator = batch.operators.find(_.operatorName == "joinFree")
      .getOrElse(throw new IllegalArgumentException(s"not ours: $batch"))
    val stored = (0 until query.streams).map(s => kept(s).count(isNeeded(s, _, batch.watermarkMs)))
    val figures = operator.customMetrics.asScala
    // if the bounds contradict each other, no rows are needed, and there are no results; several
    // cells have rows more than once
    val contradictory = most.indices.exists(i => most(i)(i) < 0)
    require(
      contradictory || operator.numRowsTotal == stored.sum || query.partitions > 1 && operator.numRowsTotal > stored.sum,
      s"batch ${batch.number}: ${operator.numRowsTotal} rows stored, the bounds need ${stored.mkString(" + ")}"
    )
    require(
      figures("logRows") <= 2 * operator.numRowsTotal,
      s"${figures("logRows")} entries for ${operator.numRowsTotal} rows"
    )
    forgotten += figures("rowsForgotten")
    if (arrived.forall(_.isEmpty) && batch.number > 0) {
      emptyBatches += 1
      require(figures("rowsForgotten") > 0, s"batch ${batch.number} has neither rows nor anything to forget")
    }
    late = batch.watermarkMs
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

  final case class Stored(k: Int, j: Int, ts: java.sql.Timestamp, v: Long) {
    def event: Event = Event(k, j, Option(ts).map(time => (time.getTime / 1000).toInt), v)
  }

  /** The conditions on the first streams only. */
  def prefix(query: TimeBoundedQuery, last: Int): TimeBoundedQuery = query.copy(
    keys = query.keys.filter { case (a, b, _) => math.max(a, b) <= last },
    bounds = query.bounds.filter(b => math.max(b.later, b.earlier) <= last),
    windows = query.windows.filter { case (a, b) => math.max(a, b) <= last }
  )
}
