package io.joinless.spark.time

import java.sql.Timestamp

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import io.joinless.spark.{BatchSql, Gate, SharedSpark}
import org.apache.spark.sql.{Encoder, Encoders, Row}
import org.scalatest.funsuite.AnyFunSuite

/** Samples that are kept of queries over rows that expire, or whose joins have bounds in time:
  * after every batch a sample is a part of what batch SQL has as the query's result over the rows
  * that are not late and have not expired, and has as many rows as it should. The same batches give
  * the same sample. The law is tested on the engine (`engine.sample.SampleLawSpec`).
  */
class ExpiringSamplesSpec extends AnyFunSuite with SharedSpark {
  import ExpiringSamplesSpec._

  // the gate plays each query in one of the two
  for ((sql, i) <- queries.zipWithIndex; cells <- if (Gate.isShort) Seq(3 * (i % 2)) else Seq(0, 3))
    test(s"oracle_ a sample of what is true now, ${if (cells == 0) "one cell" else s"$cells cells"}: $sql") {
      withConf("spark.sql.shuffle.partitions" -> "3", "spark.joinless.placement.maxCells" -> s"$cells") {
        val (size, seed) = (Seq(2, 6, 1000)((i + cells / 3) % 3), Seeds.of(sql) + cells)
        def samples(way: PlayedQuery.Way) = new Run(sql, size, seed, way).samples()
        if (i == 0 && cells == 0) { val _ = samples(PlayedQuery.AsStream) }
        val one = samples(PlayedQuery.AsBatches())
        if (i % 2 == 0) assert(samples(PlayedQuery.AsBatches()) == one, s"seed $seed: the same batches again")
      }
    }

  /** Streams `t(k, x, ts)` and `a(k, y, ts)` of rows that expire, `b(k, y, ts)` of rows that stay,
    * with a watermark, and `plain(k, y, ts)` without one.
    */
  final private class Run(sql: String, size: Int, seed: Long, way: PlayedQuery.Way) {
    private[this] val random = new Random(seed)
    private[this] val inputs = Names.map(_ => PlayedStream.of[Timed](spark))
    private[this] val lasts = Seq(Some(20 + random.nextInt(20)), Some(random.nextInt(40)), None, None)
    private[this] val here = Names.map(_ => mutable.ArrayBuffer.empty[Timed]) // those that were not late
    private[this] val sample = mutable.Map.empty[Seq[Any], Long]
    private[this] var watermark, left = 0L

    /** The sample after each round; rows arrive in all but the last one, in which time advances. */
    def samples(): Seq[Map[Seq[Any], Long]] = {
      val played = new PlayedQuery(inputs, way, readTwice = seed % 2 == 0)({
        streams()
        spark.sql(s"SELECT * FROM sample(TABLE($sql), $size, 7)").incrementalEnumerate("weight")
      })
      var all = 0L
      val after =
        try
          for (round <- 0 to 8) yield {
            if (round == 4) played.restart()
            if (round < 8) inputs.foreach(_.add(some(round): _*))
            else inputs.foreach(_.add(Timed(9, 9L, at(100000))))
            played.next().foreach(check)
            val expected = result()
            val where = s"seed $seed, round $round, $size places: $sample of $expected"
            assert(sample.forall { case (row, copies) => copies <= expected.getOrElse(row, 0L) }, where)
            assert(sample.values.sum == math.min(size.toLong, expected.values.sum), where)
            all = math.max(all, expected.values.sum)
            sample.toMap
          }
        finally played.close()
      info(s"of up to $all results at most $size, $left left")
      // rows of b stay: they leave a sample for others at most, by chance
      val stay = sql.contains("FROM b")
      assert(all > math.min(size, 6) && (if (stay) left == 0 || all > size else left > 0))
      after
    }

    private def at(second: Int) = new Timestamp(1000L * second)

    private def some(round: Int): Seq[Timed] = Seq.fill(2 + random.nextInt(6)) {
      val late = if (random.nextInt(6) == 0) 40 else 0
      val time = if (random.nextInt(20) == 0) null else at(1000 + 15 * round + random.nextInt(20) - late)
      Timed(random.nextInt(4), random.nextInt(4).toLong, time)
    }

    private def streams(): Unit = for (((name, input), i) <- Names.zip(inputs).zipWithIndex) {
      val rows = if (name == "plain") input.toDF else input.toDF.withWatermark("ts", "10 seconds")
      lasts(i).fold(rows)(seconds => rows.expire("ts", s"$seconds seconds")).createOrReplaceTempView(name)
    }

    private def check(batch: PlayedQuery.Batch): Unit = {
      for ((rows, i) <- batch.arrived.zipWithIndex; row <- rows.collect { case row: Timed => row })
        if (Names(i) == "plain" || row.ts == null && lasts(i).isEmpty || isAfter(row, watermark)) here(i) += row
      for (row <- batch.rows) {
        val (key, weight) = (row.toSeq.init, row.getLong(row.length - 1))
        val copies = sample.getOrElse(key, 0L) + weight
        assert(copies >= 0, s"$key leaves, and was not there")
        if (copies == 0) sample -= key else sample(key) = copies
        if (weight < 0) left -= weight
      }
      watermark = batch.watermarkMs
    }

    private def isAfter(row: Timed, ms: Long) = row.ts != null && row.ts.getTime > ms

    private def result(): Map[Seq[Any], Long] = {
      for (((name, input), i) <- Names.zip(inputs).zipWithIndex) {
        val live = here(i).filter(row => lasts(i).forall(seconds => isAfter(row, watermark - 1000L * seconds)))
        BatchSql.table(name, input.table(live.toSeq))
      }
      val rows: Seq[Row] = BatchSql.rows(spark.sql(sql))
      rows.map(_.toSeq).groupBy(identity).map { case (row, copies) => row -> copies.size.toLong }
    }
  }
}

private object ExpiringSamplesSpec {
  final case class Timed(k: Int, x: Long, ts: Timestamp)
  implicit private val ofTimed: Encoder[Timed] = Encoders.product[Timed]

  private val Names = Seq("t", "a", "b", "plain")
  private val Near = "BETWEEN t.ts - INTERVAL 10 SECONDS AND t.ts + INTERVAL 10 SECONDS"

  private val queries = Seq(
    "SELECT t.k, t.x, a.x AS y FROM t JOIN a ON t.k = a.k",
    "SELECT t.k, a.x AS y, s.x FROM t JOIN a ON t.k = a.k JOIN t s ON a.x = s.k",
    "SELECT k, ts, x FROM t",
    s"SELECT t.x, a.x AS y, a.ts FROM t JOIN a ON t.k = a.k AND a.ts $Near",
    s"SELECT t.x, b.x AS y FROM t JOIN b ON t.k = b.k AND b.ts $Near",
    "SELECT t.k, p.x AS v, a.x AS y FROM t JOIN plain p ON t.k = p.k JOIN a ON a.k = t.k",
    "SELECT b.x, c.x AS y FROM b JOIN b c ON b.k = c.k AND c.ts BETWEEN b.ts AND b.ts + INTERVAL 10 SECONDS",
    "SELECT t.x, a.x AS y FROM t LEFT JOIN a ON t.k = a.k AND a.x > 1"
  )
}
