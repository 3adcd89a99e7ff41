package io.joinless.spark.time

import java.sql.Timestamp

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import io.joinless.spark.{BatchSql, SharedSpark}
import org.apache.spark.sql.{Encoder, Encoders, Row}
import org.scalatest.funsuite.AnyFunSuite

/** Queries over rows that expire: after every batch, the sum of all emitted changes is the result
  * of the query over the rows that are not late and whose time has not passed, as batch SQL has it.
  */
class SlidingViewsSpec extends AnyFunSuite with SharedSpark {
  import SlidingViewsSpec._

  /** The number of random runs of each query; without the setting, one of some of them. */
  private val runs = sys.env.get("JOINLESS_SLIDING_VIEWS").map(_.toInt)

  private val queries = Seq(
    "SELECT t.k, t.x, a.y FROM t JOIN a ON t.k = a.k",
    "SELECT t.k, a.y, s.x FROM t JOIN a ON t.k = a.k JOIN t s ON a.y = s.k",
    "SELECT k, ts, x FROM t WHERE x > 2",
    "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g",
    "SELECT t.g, COUNT(*) AS n, SUM(a.y) AS s FROM t JOIN a ON t.k = a.k GROUP BY t.g",
    "SELECT MIN(t.x) AS l, MAX(a.y) AS h, COUNT(DISTINCT t.g) AS d FROM t JOIN a ON t.k = a.k",
    "SELECT DISTINCT t.g, a.y FROM t JOIN a ON t.k = a.k",
    "SELECT t.k, t.x FROM t WHERE EXISTS (SELECT 1 FROM a WHERE a.k = t.k AND a.y > 1)",
    "SELECT t.k, t.x FROM t WHERE NOT EXISTS (SELECT 1 FROM a WHERE a.k = t.k)",
    "SELECT t.k, t.x, a.y FROM t LEFT JOIN a ON t.k = a.k",
    "SELECT t.k, u.v FROM t JOIN u ON t.k = u.k",
    "SELECT t.k, p.v, a.y FROM t JOIN plain p ON t.k = p.k JOIN a ON a.k = t.k",
    "SELECT g, x FROM t ORDER BY x DESC, g, k LIMIT 5",
    "SELECT t.x, a.y FROM t JOIN a ON t.k = a.k AND a.ta BETWEEN t.ts - INTERVAL 10 SECONDS AND t.ts + INTERVAL 10 SECONDS",
    "SELECT n.g, n.c, a.y FROM (SELECT g, COUNT(*) AS c FROM t GROUP BY g) n JOIN a ON a.k = n.g",
    "SELECT x FROM (SELECT k, x + 1 AS x, ts AS z FROM t WHERE g < 2) WHERE k < 3",
    "SELECT e.k, e.v, a.y FROM e JOIN a ON e.k = a.k",
    "SELECT k, COUNT(*) AS n, SUM(v) AS s, MIN(v) AS l FROM e GROUP BY k",
    "SELECT k + 1 AS k, v, te FROM e WHERE v > 0",
    "SELECT DISTINCT e.v FROM e JOIN e f ON e.k = f.k JOIN u ON u.k = f.v",
    "SELECT t.k, t.x FROM t WHERE NOT EXISTS (SELECT 1 FROM e WHERE e.k = t.k)",
    "SELECT e.k, e.v, t.x FROM e LEFT JOIN t ON e.k = t.k",
    "SELECT e.k, COUNT(*) AS n, SUM(a.y) AS s FROM e JOIN a ON e.k = a.k JOIN plain p ON p.k = e.v GROUP BY e.k",
    "SELECT v, te FROM e UNION ALL SELECT y, ta FROM a",
    "SELECT k, ts, window(ts, '10 seconds').start AS s FROM t",
    "SELECT ts AS t2, k FROM t",
    "SELECT t.k, t.x, (SELECT MAX(ta) FROM a) AS m FROM t",
    "SELECT t.x, n.ta, n.c FROM t JOIN (SELECT k, ta, COUNT(*) AS c FROM a GROUP BY k, ta) n ON n.k = t.k",
    "SELECT e.k, e.v FROM e WHERE e.te > (SELECT MIN(ts) FROM t)",
    "SELECT t.k, t.ts, t.w, a.y FROM (SELECT *, window(ts, '10 seconds') AS w FROM t) t JOIN a ON t.k = a.k",
    "SELECT window(ts, '10 seconds').start AS s, ts, COUNT(*) AS n FROM t GROUP BY window(ts, '10 seconds'), ts",
    "SELECT t.ts, COUNT(*) AS n, MAX(a.ta) AS m FROM t JOIN a ON t.k = a.k GROUP BY t.ts"
  )

  for ((sql, i) <- queries.zipWithIndex if runs.isDefined || i % 3 == 1; run <- 0 until runs.getOrElse(1))
    test(s"oracle_ what is true now: $sql${if (run > 0) s", run $run" else ""}") {
      new Run(sql, 100L * i + run, if (i % 15 == 1) PlayedQuery.AsStream else PlayedQuery.AsBatches()).play()
    }

  /** Streams `t(k, g, x, ts)` and `a(k, y, ta)` of rows that expire, `u(k, v)` of changes,
    * `plain(k, v)` of rows that stay, and `e(k, v, te)` of changes to rows that expire.
    */
  final private class Run(sql: String, seed: Long, way: PlayedQuery.Way) {
    private[this] val random = new Random(seed * 0x9e3779b97f4a7c15L)
    private[this] val lasts = Seq(random.nextInt(40), random.nextInt(40), 0, 0, random.nextInt(60))
    private[this] val delays = Seq(random.nextInt(15), random.nextInt(15), 0, 0, random.nextInt(15))
    private[this] val wayOfChanges = random.nextInt(3)
    private[this] val negatives = random.nextInt(3) == 0 // deletes may precede inserts
    private[this] val twice = random.nextInt(3) == 0
    private[this] val ts = PlayedStream.of[Timed](spark)
    private[this] val as = PlayedStream.of[Other](spark)
    private[this] val us = PlayedStream.of[Weighted](spark)
    private[this] val plains = PlayedStream.of[Plain](spark)
    private[this] val es = PlayedStream.of[Changed](spark)
    private[this] val here = Seq.fill(5)(mutable.ArrayBuffer.empty[Product]) // those that were not late
    private[this] val open = mutable.ArrayBuffer.empty[Changed] // changes that another one may revert
    private[this] val sums = mutable.Map.empty[Seq[Any], Long]
    private[this] var late = 0L
    private[this] var waiting = 0L
    private[this] var (batches, expired, emptyBatches) = (0, 0L, 0)
    private[this] val results = mutable.Map.empty[Long, Map[Seq[Any], Long]]

    def play(): Unit = withConf(
      "spark.sql.shuffle.partitions" -> "2",
      "spark.joinless.deleteOfAbsentRow" -> (if (negatives) "negative" else "fail"),
      "spark.sql.streaming.multipleWatermarkPolicy" -> (if (random.nextInt(3) == 0) "max" else "min")
    ) {
      val played = new PlayedQuery(Seq(ts, as, us, plains, es), way, readTwice = twice)({
        streams()
        spark.sql(sql).incrementalEnumerate("weight")
      })
      try {
        for (batch <- 0 until 9) {
          add(batch)
          check(played.next())
          if (batch == 4) played.restart()
        }
        // only the time advances
        ts.add(Timed(9, 9, 9L, at(100000)))
        as.add(Other(9, 9, at(100000)))
        es.add(Changed(1, 9, 9, at(100000)))
        check(played.next())
        full(played.checkpoint)
      } finally played.close()
      info(s"$batches batches, $expired expired, ${sums.size} rows at the end, $emptyBatches batches without rows")
    }

    private def full(checkpoint: String): Unit = {
      streams()
      val query = spark.sql(sql)
      for (batch <- results.keys.toSeq.sorted.takeRight(3)) {
        val complete = bag(query.enumerateFull(checkpoint, Some(batch)).collect().toSeq)
        assert(complete == results(batch), s"the complete result of batch $batch")
      }
    }

    private def at(second: Int) = new Timestamp(1000L * second)

    private def some(batch: Int): Timestamp = {
      val second = 1000 + 15 * batch + random.nextInt(20) - (if (random.nextInt(6) == 0) 40 else 0)
      if (random.nextInt(20) == 0) null else at(second)
    }

    private def add(batch: Int): Unit = {
      def many(n: Int) = random.nextInt(n)
      val t = Seq.fill(many(8))(Timed(many(4), many(3), many(6).toLong, some(batch)))
      ts.add((if (t.nonEmpty && many(3) == 0) t :+ t.head else t): _*)
      as.add(Seq.fill(many(6))(Other(many(4), many(4), some(batch))): _*)
      us.add((Seq.fill(many(3))(Weighted(1, many(4), many(3))) ++ Seq.fill(many(2))(Weighted(1, 0, 0))): _*)
      plains.add(Seq.fill(many(3))(Plain(many(4), many(3))): _*)
      es.add(changes(batch): _*)
    }

    /** New rows, and changes that revert earlier ones, of this batch or an old one, some of whose
      * rows have expired.
      */
    private def changes(batch: Int): Seq[Changed] = {
      val rows = Seq.fill(random.nextInt(8)) {
        val back = open.nonEmpty && random.nextInt(2) == 0
        val change = if (back) {
          val of = open.remove(random.nextInt(open.size))
          of.copy(w = -of.w)
        } else {
          val sign = if (negatives && random.nextInt(3) == 0) -1 else 1
          Changed(sign * (1 + random.nextInt(2)), random.nextInt(4), random.nextInt(3), some(batch))
        }
        if (!back || random.nextInt(4) == 0) open += change // which may be inserted again
        change
      }
      if (negatives) rows else rows.sortBy(row => -row.w)
    }

    private def streams(): Unit = {
      ts.toDF.withWatermark("ts", s"${delays(0)} seconds").expire("ts", s"${lasts(0)} seconds")
        .createOrReplaceTempView("t")
      as.toDF.withWatermark("ta", s"${delays(1)} seconds").expire("ta", s"${lasts(1)} seconds")
        .createOrReplaceTempView("a")
      us.toDF.weightedChangelog("w").createOrReplaceTempView("u")
      plains.toDF.createOrReplaceTempView("plain")
      val delay = s"${delays(4)} seconds"
      val changed = wayOfChanges match {
        case 0 => es.toDF.withWatermark("te", delay).weightedChangelog("w")
        case 1 => es.toDF.weightedChangelog("w").withWatermark("te", delay)
        case _ => es.toDF.withColumnRenamed("te", "at").weightedChangelog("w").filter("k < 100")
            .selectExpr("at + INTERVAL 0 SECONDS AS te", "v", "k").withWatermark("te", delay)
      }
      changed.expire("te", s"${lasts(4)} seconds").createOrReplaceTempView("e")
    }

    private def check(played: Seq[PlayedQuery.Batch]): Unit = {
      played.foreach(check)
      // compared once per round: Spark's own batch SQL costs more than the batch
      val expected = batch()
      val last = played.lastOption.map(_.number)
      assert(sums.toMap == expected, s"batch $last at watermark $late, ${lasts.mkString(" and ")} seconds")
      last.foreach(results(_) = expected)
    }

    private def check(batch: PlayedQuery.Batch): Unit = {
      batches += 1
      for ((rows, s) <- batch.arrived.zipWithIndex)
        here(s) ++= rows.filter(row => s == 4 || timeOf(row).forall(_ > late)) // no change is late
      def sum(metric: String) =
        batch.operators.flatMap(o => Option(o.customMetrics.get(metric))).map(_.longValue).sum
      val more = sum("rowsExpired")
      expired += more
      val waited = waiting
      waiting = sum("negativeRows")
      if (batch.arrived.forall(_.isEmpty) && batches > 1) {
        emptyBatches += 1
        // deletes that wait for their insert expire, too
        assert(more > 0 || waited > waiting, s"batch ${batch.number} has neither rows nor any that expire")
      }
      for (row <- batch.rows) {
        val (key, weight) = (row.toSeq.init, row.getLong(row.length - 1))
        val sum = sums.getOrElse(key, 0L) + weight
        assert(sum >= 0, s"$key is deleted, and was not there")
        if (sum == 0) sums -= key else sums(key) = sum
      }
      late = batch.watermarkMs
    }

    private def timeOf(row: Product): Option[Long] = row match {
      case t: Timed => Option(t.ts).map(_.getTime)
      case a: Other => Option(a.ta).map(_.getTime)
      case e: Changed => Option(e.te).map(_.getTime)
      case _ => None
    }

    /** The query over the rows that are present now. */
    private def batch(): Map[Seq[Any], Long] = {
      def live(s: Int) = here(s).filter(row => timeOf(row).exists(_ + 1000L * lasts(s) > late)).toSeq
      BatchSql.table("t", ts.table(live(0).collect { case t: Timed => t }))
      BatchSql.table("a", as.table(live(1).collect { case a: Other => a }))
      BatchSql.table("u", us.table(here(2).toSeq.collect { case u: Weighted => u }))
      BatchSql.table("plain", plains.table(here(3).toSeq.collect { case p: Plain => p }))
      val counts = live(4).collect { case e: Changed => e }.groupBy(_.copy(w = 1)).toSeq
      BatchSql.table("e", es.table(counts.flatMap { case (row, changes) => Seq.fill(changes.map(_.w).sum)(row) }))
      bag(BatchSql.rows(spark.sql(sql)))
    }

    private def bag(rows: Seq[Row]): Map[Seq[Any], Long] =
      rows.map(_.toSeq).groupBy(identity).map { case (row, copies) => row -> copies.size.toLong }
  }
}

private object SlidingViewsSpec {
  implicit private val ofTimed: Encoder[Timed] = Encoders.product[Timed]
  implicit private val ofOther: Encoder[Other] = Encoders.product[Other]
  implicit private val ofWeighted: Encoder[Weighted] = Encoders.product[Weighted]
  implicit private val ofPlain: Encoder[Plain] = Encoders.product[Plain]
  implicit private val ofChanged: Encoder[Changed] = Encoders.product[Changed]

  final case class Timed(k: Int, g: Int, x: Long, ts: Timestamp)
  final case class Other(k: Int, y: Int, ta: Timestamp)
  final case class Weighted(w: Int, k: Int, v: Int)
  final case class Plain(k: Int, v: Int)
  final case class Changed(w: Int, k: Int, v: Int, te: Timestamp)
}
