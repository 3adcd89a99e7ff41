package io.joinless.spark.time

import java.sql.Timestamp

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.BatchSql
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.sql.{AnalysisException, Encoder, Encoders, SparkSession}
import org.scalatest.Assertions

/** Runs a query with random rows: after every batch, all emitted rows are the result of the query
  * over the rows that are not late, as batch SQL has it, of the groups that have closed.
  *
  * @param plain final rows are not requested: the query is one that Spark could run
  */
final private[time] class FinalRowsRun(
    spark: SparkSession,
    query: FinalQuery,
    seed: Long,
    way: PlayedQuery.Way,
    plain: Boolean = false
) extends Assertions {
  import FinalQuery._
  import FinalRowsRun._
  import query.{closes, late => lateRows, sql}

  private[this] val random = new Random(seed * 0x9e3779b97f4a7c15L)
  private[this] val delays = Seq(random.nextInt(15), random.nextInt(15))
  private[this] val twice = random.nextInt(3) == 0
  private[this] val ts = PlayedStream.of[Timed](spark)
  private[this] val as = PlayedStream.of[Other](spark)
  private[this] val here = Seq.fill(2)(mutable.ArrayBuffer.empty[Event]) // those that were not late
  private[this] val all = mutable.ArrayBuffer.empty[Seq[Any]]
  private[this] var late = 0L
  private[this] var (batches, emptyBatches) = (0, 0)

  /** The settings in which it must be run. */
  val confs: Seq[(String, String)] = Seq(
    "spark.sql.shuffle.partitions" -> "2",
    "spark.sql.streaming.multipleWatermarkPolicy" -> (if (random.nextInt(3) == 0) "max" else "min"),
    "spark.sql.streaming.stateStore.providerClass" -> ("org.apache.spark.sql.execution.streaming.state." +
      (if (random.nextInt(4) == 0) "RocksDBStateStoreProvider" else "HDFSBackedStateStoreProvider")),
    "spark.joinless.minRelations" -> "2",
    "spark.joinless.mode" -> "force"
  )

  def summary: String = s"$batches batches, ${all.size} rows, $emptyBatches batches without rows"

  def play(): Unit = {
    val played = new PlayedQuery(Seq(ts, as), way, readTwice = twice)({
      streams()
      if (plain) spark.sql(sql) else spark.sql(sql).incrementalEnumerate("on_close")
    })
    try {
      for (batch <- 0 until 9) {
        ts.add(Seq.fill(random.nextInt(8))(
          Timed(random.nextInt(4), random.nextInt(3), random.nextInt(6).toLong, some(batch))
        ): _*)
        as.add(Seq.fill(random.nextInt(6))(Other(random.nextInt(4), random.nextInt(4), some(batch))): _*)
        check(played.next())
        if (batch == 4) played.restart()
      }
      // only the time advances
      ts.add(Timed(9, 9, 9L, at(100000)))
      as.add(Other(9, 9, at(100000)))
      val last = played.next()
      check(last)
      // only the last rows are left
      val left = last.last.operators.map(_.numRowsTotal)
      assert(left.forall(_ <= 6), s"${left.mkString(", ")} rows of state are left")
      if (closes.isDefined && !plain) {
        streams()
        val full = intercept[AnalysisException](spark.sql(sql).enumerateFull(played.checkpoint).collect())
        assert(full.getCondition == "JOINLESS_ROWS_FORGOTTEN", full.getMessage)
      }
    } finally played.close()
    val _ = assert(all.nonEmpty)
  }

  private def at(second: Int) = new Timestamp(1000L * second)

  private def some(batch: Int): Timestamp = {
    val second =
      1000 + 15 * batch + random
        .nextInt(if (lateRows == NotSent) 15 else 20) - (if (lateRows != NotSent && random.nextInt(6) == 0) 30 else 0)
    if (random.nextInt(20) == 0) null else at(second)
  }

  private def streams(): Unit = {
    ts.toDF.withWatermark("ts", s"${delays(0)} seconds").createOrReplaceTempView("t")
    as.toDF.withWatermark("ta", s"${delays(1)} seconds").createOrReplaceTempView("a")
  }

  private def check(played: Seq[PlayedQuery.Batch]): Unit = {
    played.foreach(check)
    val expected = batch()
    val _ = assert(bag(all.toSeq) == expected, s"batch ${played.lastOption.map(_.number)} at watermark $late")
  }

  private def check(batch: PlayedQuery.Batch): Unit = {
    batches += 1
    for ((rows, s) <- batch.arrived.zipWithIndex)
      here(s) ++= rows.collect { case row: Event if row.time.forall(time => lateness(s, time) > late) => row }
    // Spark's own operators request a batch whenever the watermark moves
    if (
      batch.arrived.forall(_.isEmpty) && batches > 1 && batch.operators.forall(_.operatorName.startsWith("joinFree"))
    ) {
      emptyBatches += 1
      val removed = batch.operators.map(_.numRowsRemoved).sum
      assert(removed > 0, s"batch ${batch.number} has neither rows nor groups that close")
    }
    all ++= batch.rows.map(_.toSeq)
    late = batch.watermarkMs
  }

  /** The watermark at which a row of that time is late. */
  private def lateness(stream: Int, time: Long): Long =
    if (query.readsWindows(Seq("ts", "ta")(stream))) time + 10000 - time % 10000 else time

  /** The query over the rows so far, as far as it is final. */
  private def batch(): Map[Seq[Any], Int] = {
    BatchSql.table("t", ts.table(here(0).toSeq.collect { case t: Timed => t }))
    BatchSql.table("a", as.table(here(1).toSeq.collect { case a: Other => a }))
    val query = spark.sql(sql)
    val result = closes.fold(query) { case (column, behind) =>
      query.where(s"$column <= TIMESTAMP_MILLIS(${late - 1000L * behind})")
    }
    val rows = BatchSql.rows(result).map(_.toSeq)
    bag(if (sql.contains("DISTINCT") && closes.isEmpty) rows.filter(_.head != null) else rows)
  }

  private def bag(rows: Seq[Seq[Any]]): Map[Seq[Any], Int] = rows.groupBy(identity).map { case (row, copies) =>
    row -> copies.size
  }
}

private[time] object FinalRowsRun {

  implicit private val timedRows: Encoder[Timed] = Encoders.product[Timed]
  implicit private val otherRows: Encoder[Other] = Encoders.product[Other]

  sealed trait Event { def time: Option[Long] }
  final case class Timed(k: Int, g: Int, x: Long, ts: Timestamp) extends Event {
    def time: Option[Long] = Option(ts).map(_.getTime)
  }
  final case class Other(k: Int, y: Int, ta: Timestamp) extends Event {
    def time: Option[Long] = Option(ta).map(_.getTime)
  }
}
