package io.joinless.spark.time

import java.sql.Timestamp
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.TestFolders
import io.joinless.spark.api._
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryProgress}
import org.apache.spark.sql.{AnalysisException, DataFrame, Encoders, Row, classic}
import org.scalatest.Assertions

/** Runs a query with random rows: after every batch, all emitted rows are the result of the query
  * over the rows that are not late, as batch SQL has it, of the groups that have closed.
  *
  * @param plain final rows are not requested: the query is one that Spark could run
  */
final private[time] class FinalRowsRun(
    spark: classic.SparkSession,
    query: FinalQuery,
    seed: Long,
    plain: Boolean = false
) extends Assertions {
  import FinalQuery._
  import FinalRowsRun._
  import query.{closes, late => lateRows, sql}

  private[this] val random = new Random(seed * 0x9e3779b97f4a7c15L)
  private[this] val delays = Seq(random.nextInt(15), random.nextInt(15))
  private[this] val twice = random.nextInt(3) == 0
  private[this] val ts = MemoryStream[Timed](Encoders.product[Timed], spark)
  private[this] val as = MemoryStream[Other](Encoders.product[Other], spark)
  private[this] val sent = new SentRows[Event](Seq(ts, as))
  private[this] val here = Seq.fill(2)(mutable.ArrayBuffer.empty[Event]) // those that were not late
  private[this] val checkpoint = TestFolders.create("final").resolve("cp").toString
  private[this] val emitted = new ConcurrentHashMap[Long, Seq[Row]]
  private[this] val all = mutable.ArrayBuffer.empty[Seq[Any]]
  private[this] var late = 0L
  private[this] val newBatches = new NewBatches
  private[this] var (batches, emptyBatches) = (0, 0)

  /** The settings in which it must be run. */
  val confs: Seq[(String, String)] = Seq(
    "spark.sql.shuffle.partitions" -> "2",
    "spark.sql.adaptive.enabled" -> "false", // of the oracle alone: stages planned one after the other
    "spark.sql.streaming.multipleWatermarkPolicy" -> (if (random.nextInt(3) == 0) "max" else "min"),
    "spark.sql.streaming.stateStore.providerClass" -> ("org.apache.spark.sql.execution.streaming.state." +
      (if (random.nextInt(4) == 0) "RocksDBStateStoreProvider" else "HDFSBackedStateStoreProvider")),
    "spark.joinless.minRelations" -> "2",
    "spark.joinless.mode" -> "force"
  )

  def summary: String = s"$batches batches, ${all.size} rows, $emptyBatches batches without rows"

  def play(): Unit = {
    var running = start()
    try {
      for (batch <- 0 until 9) {
        send(
          0,
          Seq.fill(random.nextInt(8))(Timed(
            random.nextInt(4),
            random.nextInt(3),
            random.nextInt(6).toLong,
            some(batch)
          ))
        )
        send(1, Seq.fill(random.nextInt(6))(Other(random.nextInt(4), random.nextInt(4), some(batch))))
        running.processAllAvailable()
        check(running)
        if (batch == 4) {
          running.stop()
          running = start()
        }
      }
      // only the time advances
      send(0, Seq(Timed(9, 9, 9L, at(100000))))
      send(1, Seq(Other(9, 9, at(100000))))
      running.processAllAvailable()
      check(running)
      // only the last rows are left
      val left = running.lastProgress.stateOperators.map(_.numRowsTotal)
      assert(left.forall(_ <= 6), s"${left.mkString(", ")} rows of state are left")
      if (closes.isDefined && !plain) {
        val full = intercept[AnalysisException](spark.sql(sql).enumerateFull(checkpoint).collect())
        assert(full.getCondition == "JOINLESS_ROWS_FORGOTTEN", full.getMessage)
      }
    } finally running.stop()
    val _ = assert(all.nonEmpty)
  }

  private def at(second: Int) = new Timestamp(1000L * second)

  private def some(batch: Int): Timestamp = {
    val second =
      1000 + 15 * batch + random
        .nextInt(if (lateRows == NotSent) 15 else 20) - (if (lateRows != NotSent && random.nextInt(6) == 0) 30 else 0)
    if (random.nextInt(20) == 0) null else at(second)
  }

  private def send(stream: Int, rows: Seq[Event]): Unit = if (rows.nonEmpty) {
    sent.add(stream, rows)
    val _ = stream match {
      case 0 => ts.addData(rows.collect { case t: Timed => t })
      case 1 => as.addData(rows.collect { case a: Other => a })
    }
  }

  private def streams(): Unit = {
    ts.toDF().withWatermark("ts", s"${delays(0)} seconds").createOrReplaceTempView("t")
    as.toDF().withWatermark("ta", s"${delays(1)} seconds").createOrReplaceTempView("a")
  }

  private def start(): StreamingQuery = {
    streams()
    newBatches.begin()
    val requested = if (plain) spark.sql(sql) else spark.sql(sql).incrementalEnumerate("on_close")
    requested.writeStream.option("checkpointLocation", checkpoint)
      .foreachBatch { (df: DataFrame, id: Long) =>
        if (twice) { val _ = df.count() }
        val _ = emitted.put(id, df.collect().toSeq)
      }.start()
  }

  private def check(running: StreamingQuery): Unit = {
    newBatches.foreach(running)(check)
    val expected = batch()
    val _ = assert(bag(all.toSeq) == expected, s"batch ${newBatches.last} at watermark $late")
  }

  private def check(progress: StreamingQueryProgress): Unit = {
    batches += 1
    val watermark = TimeBoundedRun.millis(progress.eventTime.get("watermark"))
    val arrived = sent.next(progress)
    for ((rows, s) <- arrived.zipWithIndex) here(s) ++= rows.filter(_.time.forall(time => lateness(s, time) > late))
    // Spark's own operators request a batch whenever the watermark moves
    if (
      arrived.forall(_.isEmpty) && batches > 1 && progress.stateOperators.forall(_.operatorName.startsWith("joinFree"))
    ) {
      emptyBatches += 1
      val removed = progress.stateOperators.map(_.numRowsRemoved).sum
      assert(removed > 0, s"batch ${progress.batchId} has neither rows nor groups that close")
    }
    for (row <- emitted.get(progress.batchId)) all += row.toSeq
    late = watermark
  }

  /** The watermark at which a row of that time is late. */
  private def lateness(stream: Int, time: Long): Long =
    if (query.readsWindows(Seq("ts", "ta")(stream))) time + 10000 - time % 10000 else time

  /** The query over the rows so far, as far as it is final. */
  private def batch(): Map[Seq[Any], Int] = {
    spark.createDataset(here(0).toSeq.collect { case t: Timed => t })(Encoders.product[Timed])
      .createOrReplaceTempView("t")
    spark.createDataset(here(1).toSeq.collect { case a: Other => a })(Encoders.product[Other])
      .createOrReplaceTempView("a")
    val query = spark.sql(sql)
    val result = closes.fold(query) { case (column, behind) =>
      query.where(s"$column <= TIMESTAMP_MILLIS(${late - 1000L * behind})")
    }
    val rows = result.collect().toSeq.map(_.toSeq)
    streams()
    bag(if (sql.contains("DISTINCT") && closes.isEmpty) rows.filter(_.head != null) else rows)
  }

  private def bag(rows: Seq[Seq[Any]]): Map[Seq[Any], Int] = rows.groupBy(identity).map { case (row, copies) =>
    row -> copies.size
  }
}

private[time] object FinalRowsRun {

  sealed trait Event { def time: Option[Long] }
  final case class Timed(k: Int, g: Int, x: Long, ts: Timestamp) extends Event {
    def time: Option[Long] = Option(ts).map(_.getTime)
  }
  final case class Other(k: Int, y: Int, ta: Timestamp) extends Event {
    def time: Option[Long] = Option(ta).map(_.getTime)
  }
}
