package io.joinless.spark.exec

import java.sql.Timestamp
import io.joinless.spark.SharedSpark
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.{DataFrame, Encoder, Encoders}
import org.scalatest.funsuite.AnyFunSuite

/** Event time: late rows are dropped at their scan as Spark's joins drop them, and the watermark is
  * propagated.
  */
class WatermarkSpec extends AnyFunSuite with SharedSpark {

  private type Event = (Long, Long, Timestamp)
  implicit private val events: Encoder[Event] = Encoders.product[Event]

  private def event(src: Long, dst: Long, second: Int): Event = (src, dst, new Timestamp(1000000000L + second * 1000L))

  /** Runs a query over watermarked events and plain edges, batch by batch; its rows and the late
    * rows it dropped.
    */
  private def run(
      enabled: Boolean,
      sql: String,
      mode: OutputMode = OutputMode.Append(),
      way: PlayedQuery.Way = PlayedQuery.AsBatches()
  )(batches: Seq[Event]*): (Seq[String], Long) =
    withConf("spark.joinless.enabled" -> enabled.toString, "spark.sql.shuffle.partitions" -> "2") {
      val watermarked = PlayedStream.of[Event](spark)
      val plain = PlayedStream.of[Event](spark)
      def table(stream: PlayedStream[Event]): DataFrame = stream.toDF.toDF("src", "dst", "ts")
      table(watermarked).withWatermark("ts", "10 seconds").createOrReplaceTempView("events")
      table(plain).select("src", "dst").createOrReplaceTempView("edges")
      val query = new PlayedQuery(Seq(watermarked, plain), way, mode)(spark.sql(sql))
      try {
        plain.add(event(2, 3, 0), event(3, 4, 0), event(5, 6, 0))
        val played = query.next() ++ batches.flatMap { batch =>
          watermarked.add(batch: _*)
          query.next()
        }
        val joins = played.flatMap(_.operators).filter(o => o.operatorName != "stateStoreSave")
        assert(joins.forall(_.operatorName == (if (enabled) "joinFree" else "symmetricHashJoin")))
        (played.flatMap(_.rows.map(_.toString)).sorted, joins.map(_.numRowsDroppedByWatermark).sum)
      } finally query.close()
    }

  private val batches = Seq(
    Seq(event(1, 2, 100), event(1, 2, 95)),
    Seq(event(7, 2, 101)), // the watermark is now 90
    Seq(event(8, 2, 50), event(9, 2, 91), event(10, 2, 200)), // the first is late
    Seq(event(11, 2, 120), event(12, 2, 300)) // 120 is late if a batch without data moved the watermark to 190
  )

  private val join = "events a JOIN edges b ON a.dst = b.src JOIN edges c ON b.dst = c.src"

  test("differential_ late rows are dropped as by Spark's joins") {
    val sql = s"SELECT a.src, a.ts, c.dst FROM $join"
    val (ours, dropped) = run(enabled = true, sql, way = PlayedQuery.AsStream)(batches: _*)
    assert(ours.size == 7 && dropped == 1)
    assert((ours, dropped) == run(enabled = false, sql, way = PlayedQuery.AsStream)(batches: _*))
  }

  for (
    counted <- Seq(
      "COUNT(*) FILTER (WHERE a.ts > TIMESTAMP_SECONDS(5)) AS n, COUNT(*) AS all",
      "SUM(CASE WHEN a.ts IS NOT NULL AND c.dst > 0 THEN 2 ELSE 0 END) AS n"
    )
  )
    test(s"differential_ late rows are dropped where results are counted: $counted") {
      SharedSpark.assumeUpdateMode()
      val sql = s"SELECT c.dst, $counted FROM $join GROUP BY c.dst"
      val (ours, dropped) = run(enabled = true, sql, mode = OutputMode.Update())(batches: _*)
      assert(dropped > 0)
      assert((ours, dropped) == run(enabled = false, sql, mode = OutputMode.Update())(batches: _*))
    }

  test("differential_ late rows are dropped where a key of the join is computed of their time") {
    val sql =
      "SELECT a.src, c.dst FROM events a JOIN edges b ON a.dst = b.src AND MINUTE(a.ts) * 0 + 3 = b.dst JOIN edges c ON b.dst = c.src"
    val (ours, dropped) = run(enabled = true, sql)(batches: _*)
    assert(dropped == 1)
    assert((ours, dropped) == run(enabled = false, sql)(batches: _*))
  }

  test("differential_ late rows are dropped where they are grouped by a function of their time") {
    SharedSpark.assumeUpdateMode()
    val sql = s"SELECT HOUR(a.ts) + 1 AS h, a.ts > TIMESTAMP_SECONDS(0) AS l, COUNT(*) AS n FROM $join GROUP BY 1, 2"
    val (ours, dropped) = run(enabled = true, sql, mode = OutputMode.Update())(batches: _*)
    assert(dropped > 0)
    assert((ours, dropped) == run(enabled = false, sql, mode = OutputMode.Update())(batches: _*))
  }

  test("differential_ without the event-time column nothing is late") {
    val sql = s"SELECT a.src, c.dst FROM $join"
    val (ours, dropped) = run(enabled = true, sql)(batches: _*)
    assert(ours.size == 8 && dropped == 0)
    assert((ours, dropped) == run(enabled = false, sql)(batches: _*))
  }

  test("differential_ the watermark passes on to an aggregation above") {
    val sql = s"SELECT window(a.ts, '20 seconds') AS w, count(*) AS n FROM $join GROUP BY window(a.ts, '20 seconds')"
    val (ours, dropped) = run(enabled = true, sql)(batches: _*)
    assert(ours.nonEmpty && dropped > 0)
    assert((ours, dropped) == run(enabled = false, sql)(batches: _*))
  }
}
