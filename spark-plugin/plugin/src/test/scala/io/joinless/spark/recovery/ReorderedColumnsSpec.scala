package io.joinless.spark.recovery

import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.joinless.spark.api._
import io.joinless.spark.batches.MicroBatches
import io.joinless.spark.{BatchSql, SharedSpark, TestFolders}
import org.apache.spark.sql.joinless.BatchForms
import org.apache.spark.sql.streaming.{OutputMode, StateOperatorProgress, Trigger}
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.funsuite.AnyFunSuite

/** A restart after the columns of a source were reordered: columns are identified by their names,
  * and state stays as it was stored.
  */
class ReorderedColumnsSpec extends AnyFunSuite with SharedSpark {

  private val schemas = Seq(
    "k BIGINT, x INT, s STRING, ts TIMESTAMP, _change_type STRING",
    "ts TIMESTAMP, s STRING, _change_type STRING, x INT, k BIGINT"
  )

  private val rows = Seq(
    Seq((1, 10, "a", 0, "insert"), (2, 20, "b", 1, "insert"), (2, 21, "c", 2, "insert")),
    Seq((1, 11, "d", 3, "insert"), (2, 20, "b", 1, "delete"), (3, 30, "e", 4, "insert"))
  )

  /** The rows that two runs emitted, the second one over the other schema; of changes, each with
    * its weight.
    */
  private def emitted(sql: String, requested: Boolean, mode: OutputMode, asStream: Boolean): Seq[Row] = withConf(
    "spark.sql.shuffle.partitions" -> "2",
    "spark.joinless.minRelations" -> "2",
    "spark.joinless.mode" -> (if (requested) "auto" else "force")
  ) {
    val folder = TestFolders.create("reordered")
    val source = Files.createDirectory(folder.resolve("in"))
    val checkpoint = folder.resolve("cp").toString
    var batch = 0
    def query: DataFrame = {
      val stream = spark.readStream.schema(schemas(batch)).json(source.toString)
      val timed = stream.takenAsRows.drop("_change_type").withWatermark("ts", "1 hour")
      (if (requested) stream.changelog() else timed).createOrReplaceTempView("t")
      spark.sql(sql)
    }
    def emitting: DataFrame = if (requested) query.incrementalEnumerate("weight") else query
    def arrived(): String = {
      val lines = rows(batch).filter(requested || _._5 == "insert").map { case (k, x, s, second, change) =>
        s"""{"k": $k, "x": $x, "s": "$s", "ts": "2026-01-01T00:00:0${second}Z", "_change_type": "$change"}"""
      }
      val file = Files.write(folder.resolve(s".$batch"), lines.asJava)
      Files.move(file, source.resolve(s"$batch.json")).toString
    }
    def isOurs(operators: Seq[StateOperatorProgress]) = operators.exists(_.operatorName.startsWith("joinFree"))

    val emitted = if (asStream) schemas.indices.flatMap { i =>
      batch = i
      val _ = arrived()
      val batches = new ConcurrentHashMap[Long, Seq[Row]]
      val running = emitting.writeStream
        .outputMode(mode).option("checkpointLocation", checkpoint).trigger(Trigger.AvailableNow())
        .foreachBatch((df: DataFrame, id: Long) => { val _ = batches.put(id, df.collect().toSeq) }).start()
      running.awaitTermination()
      assert(isOurs(running.recentProgress.toSeq.flatMap(_.stateOperators)))
      batches.asScala.toSeq.sortBy(_._1).flatMap(_._2)
    }
    else {
      val batches = new MicroBatches(spark, emitting, checkpoint, BatchForms.scans(spark), mode)
      try schemas.indices.flatMap { i =>
          batch = i
          if (i > 0) batches.restart()
          val played = batches.playFiles(Map(source.toString -> Seq(arrived())))
          assert(isOurs(played.operators))
          played.rows
        }
      finally batches.close()
    }
    if (requested) full = query.enumerateFull(checkpoint).collect().toSeq
    emitted
  }

  /** The result of batch SQL over the rows that are present in the end. */
  private def expected(sql: String, requested: Boolean): Seq[String] = {
    val all = rows.flatten.filter(requested || _._5 == "insert")
    val there = all.filter(_._5 == "insert").diff(all.filter(_._5 == "delete").map(_.copy(_5 = "insert")))
    val values = there.map { case (k, x, s, second, _) => s"($k, $x, '$s', TIMESTAMP '2026-01-01 00:00:0$second')" }
    spark.sql(
      s"SELECT CAST(k AS BIGINT) AS k, CAST(x AS INT) AS x, s, ts FROM VALUES ${values.mkString(", ")} AS v(k, x, s, ts)"
    )
      .createOrReplaceTempView("t")
    BatchSql.rows(spark.sql(sql)).map(_.toString).sorted
  }

  private var full: Seq[Row] = Nil // the complete result after the second run

  private val zone = "spark.sql.session.timeZone" -> "UTC"

  for (
    (sql, i) <- Seq(
      "SELECT a.s, b.x, a.x AS y FROM t a JOIN t b ON a.k = b.k",
      "SELECT a.s, b.x, c.s AS z FROM t a JOIN t b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 1 HOUR JOIN t c ON c.k = b.k AND c.x > a.x",
      "SELECT a.s, b.ts FROM t a LEFT SEMI JOIN t b ON a.k = b.k AND a.x < b.x JOIN t b ON a.k = b.k"
    ).zipWithIndex
  ) test(s"recovery_ plain rows: $sql") {
    withConf(zone)(
      assert(emitted(sql, requested = false, OutputMode.Append(), asStream = i == 0).map(_.toString).sorted == expected(
        sql,
        requested = false
      ))
    )
  }

  test("recovery_ counts of a plain GROUP BY go on") {
    SharedSpark.assumeUpdateMode()
    val sql = "SELECT b.s, COUNT(*) AS n, SUM(a.x) AS m, MAX(a.s) AS h FROM t a JOIN t b ON a.k = b.k GROUP BY b.s"
    withConf(zone) {
      val last =
        emitted(sql, requested = false, OutputMode.Update(), asStream = true).groupMapReduce(_.getString(0))(identity)(
          (_, later) => later
        )
      assert(last.values.map(_.toString).toSeq.sorted == expected(sql, requested = false))
    }
  }

  for (
    (sql, i) <- Seq(
      "SELECT a.s, b.x, a.x AS y FROM t a JOIN t b ON a.k = b.k AND a.s <= b.s",
      "SELECT s, x FROM t WHERE k > 1",
      "SELECT k, COUNT(*) AS n, SUM(x) AS m, MAX(s) AS h FROM t GROUP BY k",
      "SELECT b.s, COUNT(*) AS n, SUM(a.x * CAST(b.x AS BIGINT)) AS m FROM t a JOIN t b ON a.k = b.k GROUP BY b.s",
      "SELECT b.s, COUNT(*) AS n, MIN(a.s) AS l FROM t a JOIN t b ON a.k = b.k AND a.x <> b.x GROUP BY b.s",
      "SELECT a.k, a.s FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE a.k = b.k AND a.x < b.x)",
      "SELECT a.k, a.s FROM t a WHERE a.x IN (SELECT b.x FROM t b WHERE b.k = 2) OR a.k = 3",
      "SELECT s, x, SUM(x) OVER (PARTITION BY k ORDER BY s) AS m FROM t",
      "SELECT s, x FROM t ORDER BY x DESC LIMIT 2",
      "SELECT k, x, s, ts FROM t ORDER BY x DESC, s LIMIT 2",
      "SELECT k, x, s FROM (SELECT k, x, s, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) AS n FROM t) WHERE n = 1",
      "SELECT s, k, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) AS n FROM t) WHERE n = 1",
      "SELECT s, k, m FROM (SELECT *, SUM(x) OVER (PARTITION BY k ORDER BY s) AS m FROM t) WHERE m > 10",
      "SELECT s, k FROM (SELECT * FROM t ORDER BY x DESC, ts LIMIT 3)",
      "SELECT a.k, b.s FROM t a LEFT JOIN t b ON a.k = b.k AND a.s < b.s WHERE a.x > 10",
      "SELECT a.k, b.k AS l, b.s FROM t a FULL JOIN t b ON a.k = b.k AND a.x <> b.x",
      "SELECT a.s, b.x, b.s AS r FROM t a RIGHT JOIN t b ON a.k = b.k AND a.x < b.x",
      "SELECT a.s, b.x, c.s AS r FROM t a LEFT JOIN (SELECT b.k, b.x, c.s FROM t b JOIN t c ON b.x = c.x) c ON a.k = c.k LEFT JOIN t b ON b.k = c.k",
      "SELECT b.s, COUNT(*) AS n, MAX(b.x) AS m FROM t a LEFT JOIN t b ON a.k = b.k AND a.s < b.s GROUP BY b.s",
      "SELECT DISTINCT s, x FROM (SELECT s, x FROM t UNION ALL SELECT s, x FROM t)",
      "SELECT a.s, a.x FROM (SELECT s, x, k FROM t UNION ALL SELECT s, x, k FROM t) a JOIN t b ON a.k = b.k AND a.x >= b.x"
    ).zipWithIndex
  ) test(s"recovery_ changes: $sql") {
    withConf(zone) {
      val sums = emitted(sql, requested = true, OutputMode.Append(), asStream = i % 6 == 0)
        .groupMapReduce(row => Row.fromSeq(row.toSeq.init).toString)(_.toSeq.last.asInstanceOf[Long])(_ + _)
      assert(sums.values.forall(_ >= 0))
      assert(sums.toSeq.flatMap { case (row, n) => Seq.fill(n.toInt)(row) }.sorted == expected(sql, requested = true))
      assert(full.map(_.toString).sorted == expected(sql, requested = true))
    }
  }
}
