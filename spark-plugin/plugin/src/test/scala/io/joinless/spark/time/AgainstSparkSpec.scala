package io.joinless.spark.time

import java.sql.Timestamp

import scala.util.Random

import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import io.joinless.spark.{BatchSql, SharedSpark}
import org.apache.spark.sql.{Encoder, Encoders}
import org.scalatest.funsuite.AnyFunSuite

/** Joins of two relations with bounds in time, against Spark's own operator: the same rows, and no
  * more of them stored.
  */
class AgainstSparkSpec extends AnyFunSuite with SharedSpark {
  import AgainstSparkSpec._

  private val on = "a JOIN b ON a.k = b.k"

  for (
    (sql, i) <- Seq(
      s"SELECT a.v, b.v AS u FROM $on AND b.tb BETWEEN a.ta AND a.ta + INTERVAL 20 SECONDS",
      s"SELECT a.v, b.v AS u FROM $on AND b.tb > a.ta - INTERVAL 5 SECONDS AND b.tb < a.ta + INTERVAL 5 SECONDS",
      s"SELECT a.v, b.v AS u FROM $on AND b.tb >= a.ta",
      s"SELECT a.v, b.v AS u FROM $on AND a.ta = b.tb",
      s"SELECT a.v, b.v AS u FROM $on AND CAST(b.tb AS BIGINT) BETWEEN CAST(a.ta AS BIGINT) - 10 AND CAST(a.ta AS BIGINT) + 3",
      s"SELECT a.v, a.ta, b.v AS u FROM $on AND b.tb BETWEEN a.ta AND a.ta + INTERVAL 20 SECONDS",
      s"SELECT a.v, b.v AS u FROM (SELECT k, v, window(ta, '10 seconds') AS w FROM a) a JOIN (SELECT k, v, window(tb, '10 seconds') AS w FROM b) b ON a.k = b.k AND a.w = b.w"
    ).zipWithIndex
  ) test(s"rows and state beside Spark's: $sql") {
    val spark = play(enabled = false, sql, asStream = i == 0)
    val ours = play(enabled = true, sql, asStream = i == 0)
    assert(ours.map(_.rows) == spark.map(_.rows))
    assert(spark.map(_.rows.size).sum >= 10)
    for ((o, s) <- ours.zip(spark)) assert(o.stored <= s.stored, s"${ours.map(_.stored)} and ${spark.map(_.stored)}")
  }

  test("a time that no row of the other side can have any more is no reason to keep a row, though Spark keeps it") {
    val sql = s"SELECT a.v, b.v AS u FROM $on AND b.tb - a.ta BETWEEN INTERVAL '0' SECOND AND INTERVAL '10' SECOND"
    // Spark sees nothing to clean, so its watermark lags by a batch, and late rows are accepted
    val (ours, spark) = (play(enabled = true, sql, InTime), play(enabled = false, sql, InTime))
    assert(ours.map(_.rows) == spark.map(_.rows))
    assert(ours.last.stored < spark.last.stored / 3)
  }

  for (
    (sql, i) <- Seq(
      "SELECT window(b.tb, '10 seconds') AS w, COUNT(*) AS n, SUM(a.v) AS s FROM a JOIN b ON a.k = b.k AND " +
        "b.tb BETWEEN a.ta AND a.ta + INTERVAL 20 SECONDS GROUP BY window(b.tb, '10 seconds')",
      "SELECT window(a.ta, '10 seconds') AS w, COUNT(*) AS n, SUM(b.v) AS s FROM a JOIN b ON a.k = b.k AND " +
        "b.tb BETWEEN a.ta AND a.ta + INTERVAL 20 SECONDS GROUP BY window(a.ta, '10 seconds')"
    ).zipWithIndex
  ) test(s"windows above a join get all of its rows: $sql") {
    val ours = play(enabled = true, sql, InTime, asStream = i == 0)
    val spark = play(enabled = false, sql, InTime, asStream = i == 0)
    // ours may be emitted earlier: the watermark is held back only by the times that the join
    // projects
    val emitted = ours.map(_.rows).scanLeft(Set.empty[String])(_ ++ _)
    val emittedBySpark = spark.map(_.rows).scanLeft(Set.empty[String])(_ ++ _)
    for ((o, s) <- emitted.zip(emittedBySpark)) assert(s.subsetOf(o), s"${s.diff(o)}")
    assert(emitted.last.size == ours.map(_.rows.size).sum && emitted.last.size > 3)
    val all = whole(sql)
    assert(emitted.last.subsetOf(all) && emitted.last.size >= all.size - 5, s"${all.diff(emitted.last)} of ${all.size}")
  }

  test("windows of a time that is projected beside the window by which rows are bound") {
    // Spark refuses two event times in one stream
    val sql =
      "SELECT window(a.ta, '5 seconds') AS w, COUNT(*) AS n, SUM(b.v) AS s FROM (SELECT k, v, window(ta, '10 seconds') AS w, ta " +
        "FROM a) a JOIN (SELECT k, v, window(tb, '10 seconds') AS w FROM b) b ON a.k = b.k AND a.w = b.w GROUP BY window(a.ta, '5 seconds')"
    val emitted = play(enabled = true, sql, InTime).flatMap(_.rows).toSet
    val all = whole(sql)
    assert(emitted.subsetOf(all) && emitted.size >= all.size - 5, s"${emitted.diff(all)}, ${all.diff(emitted)}")
  }

  /** The same as one batch, without watermarks. */
  private def whole(sql: String): Set[String] = {
    def table(name: String) = PlayedStream.of[Tagged](spark).table(InTime.flatten.filter(_.stream == name))
      .selectExpr("k", s"ts AS t$name", "v")
    Seq("a", "b").foreach(name => BatchSql.table(name, table(name)))
    BatchSql.rows(spark.sql(sql)).map(_.toString).toSet
  }

  implicit private val events: Encoder[Tagged] = Encoders.product[Tagged]

  private def play(
      enabled: Boolean,
      sql: String,
      batches: Seq[Seq[Tagged]] = Batches,
      asStream: Boolean = false
  ): Seq[Round] = withConf(
    "spark.joinless.enabled" -> enabled.toString,
    "spark.joinless.minRelations" -> "2",
    "spark.sql.shuffle.partitions" -> "1"
  ) {
    val source = PlayedStream.of[Tagged](spark)
    for (name <- Seq("a", "b"))
      source.toDF.where(s"stream = '$name'").selectExpr("k", s"ts AS t$name", "v").withWatermark(
        s"t$name",
        "5 seconds"
      )
        .createOrReplaceTempView(name)
    val way = if (asStream) PlayedQuery.AsStream else PlayedQuery.AsBatches()
    val query = new PlayedQuery(Seq(source), way)(spark.sql(sql))
    try batches.map { batch =>
        source.add(batch: _*)
        val played = query.next()
        val operator = played.last.operators.filter(_.operatorName != "stateStoreSave").head
        assert(operator.operatorName == (if (enabled) "joinFree" else "symmetricHashJoin"))
        val rows = played.flatMap(_.rows.map(_.toString))
        assert(rows.distinct.size == rows.size)
        Round(rows.toSet, operator.numRowsTotal)
      }
    finally query.close()
  }
}

private object AgainstSparkSpec {

  final case class Tagged(stream: String, k: Int, ts: Timestamp, v: Long)

  final case class Round(rows: Set[String], stored: Long)

  /** Without the late rows. */
  lazy val InTime: Seq[Seq[Tagged]] =
    Batches.zipWithIndex.map { case (rows, i) => rows.filter(_.ts.getTime >= 1000L * (1000 + 12 * i)) }

  /** Rows are never so late that the number of batches without data matters. */
  val Batches: Seq[Seq[Tagged]] = {
    val random = new Random(5)
    var number = 0L
    (0 until 7).map { batch =>
      Seq.fill(24) {
        number += 1
        val second = 1000 + 12 * batch + random.nextInt(10) - (if (random.nextInt(9) == 0) 300 else 0)
        Tagged(if (random.nextBoolean()) "a" else "b", random.nextInt(3), new Timestamp(1000L * second), number)
      }
    }
  }
}
