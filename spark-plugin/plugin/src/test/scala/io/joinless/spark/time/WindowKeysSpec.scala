package io.joinless.spark.time

import java.sql.Timestamp

import io.joinless.spark.api._
import io.joinless.spark.SharedSpark
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.sql.{DataFrame, Encoder, Encoders}
import org.scalatest.funsuite.AnyFunSuite

/** Joins that read windows of their times only: a row counts as long as its window is open,
  * whatever its own time.
  */
class WindowKeysSpec extends AnyFunSuite with SharedSpark {
  import WindowKeysSpec._

  private val tumbling = "window(ts, '10 seconds')"
  private def of(name: String, window: String = tumbling) = s"(SELECT k, id, $window AS w FROM $name) $name"
  private val on = "a.k = b.k AND a.w = b.w"

  private val two = s"(SELECT *, window(ts, '20 seconds') AS v FROM (SELECT *, $tumbling AS w FROM b)) b"
  private val sliding = Seq("a", "b").map(of(_, "window(ts, '10 seconds', '5 seconds')"))

  for (
    (sql, i) <- Seq(
      s"SELECT a.id, b.id AS x FROM ${of("a")} FULL JOIN ${of("b")} ON $on",
      s"SELECT a.id, a.k AS x FROM ${of("a")} LEFT SEMI JOIN ${of("b")} ON $on"
    ).zipWithIndex
  ) test(s"rows of windows that are open, beside Spark's: $sql") {
    val (emitted, late) = played(sql, enabled = true, way(i == 0))
    assert(emitted == played(sql, enabled = false, way(i == 0))._1)
    assert(emitted.exists(_.matches("\\[12,(22|3)\\]")) && !emitted.exists(_.contains("10")), emitted)
    assert(late > 0)
  }

  for (
    ((sql, expected), i) <- Seq(
      s"SELECT unix_timestamp(a.w.end) AS e, COUNT(*) AS n, COUNT(b.id) AS m FROM ${of("a")} LEFT JOIN ${of("b")} ON $on GROUP BY a.w" -> Seq(
        "[10,3,1]",
        "[20,2,1]",
        "[30,1,1]"
      ),
      // the group outputs the time of its rows, but is grouped by a window
      s"SELECT a.id, b.n FROM ${of("a")} LEFT JOIN (SELECT k, $tumbling AS w, COUNT(*) AS n, MAX(ts) AS l FROM b GROUP BY 1, 2) b ON $on AND l IS NOT NULL" ->
        Seq("[11,null]", "[12,1]", "[13,1]", "[14,1]", "[15,null]", "[16,null]"),
      // a row is late by the window that is over first
      s"SELECT a.id, unix_timestamp(b.v.end) AS v FROM ${of("a")} LEFT JOIN $two ON $on" ->
        Seq("[11,null]", "[12,20]", "[13,20]", "[14,40]", "[15,null]", "[16,null]"),
      // of windows that overlap, the first of the rows that are four seconds old is over
      s"SELECT a.id, b.id AS x, unix_timestamp(a.w.end) AS e FROM ${sliding(0)} LEFT JOIN ${sliding(1)} ON $on" ->
        Seq(
          "[11,null,10]",
          "[11,null,15]",
          "[12,22,10]",
          "[13,23,20]",
          "[13,23,25]",
          "[14,24,30]",
          "[14,24,35]",
          "[15,null,10]",
          "[15,null,15]",
          "[16,null,20]",
          "[16,null,25]"
        )
    ).zipWithIndex
  ) test(s"what is final of windows that are open: $sql") {
    val (emitted, late) = played(sql, enabled = true, way(i == 0), _.incrementalEnumerate("on_close"))
    assert(emitted == expected && late > 0)
  }

  private def way(asStream: Boolean) = if (asStream) PlayedQuery.AsStream else PlayedQuery.AsBatches()

  /** The rows emitted for some input rows, of which one of each stream is late, in any order; and
    * the number of late rows.
    */
  private def played(
      sql: String,
      enabled: Boolean,
      way: PlayedQuery.Way,
      mark: DataFrame => DataFrame = identity
  ): (Seq[String], Long) =
    withConf(
      "spark.joinless.enabled" -> enabled.toString,
      "spark.joinless.minRelations" -> "2",
      "spark.joinless.mode" -> (if (enabled) "force" else "auto"),
      "spark.sql.session.timeZone" -> "UTC",
      "spark.sql.shuffle.partitions" -> "1",
      "spark.sql.streaming.statefulOperator.checkCorrectness.enabled" -> "false"
    ) {
      val streams = Seq("a", "b").map(name => name -> PlayedStream.of[Event](spark))
      for ((name, stream) <- streams)
        stream.toDF.toDF("k", "id", "ts").withWatermark("ts", "0 seconds").createOrReplaceTempView(name)
      val query = new PlayedQuery(streams.map(_._2), way)(mark(spark.sql(sql)))
      val batches =
        try Batches.flatMap { batch =>
            for ((name, stream) <- streams; rows <- batch.get(name)) stream.add(rows: _*)
            query.next()
          }
        finally query.close()
      val late = batches.flatMap(_.operators).map(_.numRowsDroppedByWatermark).sum
      (batches.flatMap(_.rows.map(_.toString)).filterNot(_.contains("99")).sorted, late)
    }

  implicit private val events: Encoder[Event] = Encoders.product[Event]
}

private object WindowKeysSpec {
  type Event = (Int, Int, Timestamp)

  private def event(k: Int, id: Int, second: Int): Event = (k, id, new Timestamp(1000L * second))

  /** Rows are late up to 8 seconds when those at 3 and 4 are sent, and up to 18 when those at 9
    * are.
    */
  val Batches: Seq[Map[String, Seq[Event]]] = Seq(
    Map("a" -> Seq(event(1, 11, 8)), "b" -> Seq(event(2, 21, 8))),
    Map("a" -> Seq(event(8, 15, 9))),
    Map("a" -> Seq(event(3, 12, 4)), "b" -> Seq(event(3, 22, 3))),
    Map("a" -> Seq(event(4, 13, 18)), "b" -> Seq(event(4, 23, 18))),
    Map("a" -> Seq(event(9, 16, 19))),
    Map("a" -> Seq(event(5, 10, 9)), "b" -> Seq(event(5, 20, 9))),
    Map("a" -> Seq(event(6, 14, 25)), "b" -> Seq(event(6, 24, 26))),
    Map("a" -> Seq(event(7, 99, 100)), "b" -> Seq(event(7, 99, 100)))
  )
}
