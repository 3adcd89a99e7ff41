package io.joinless.spark.time

import java.io.File
import java.lang.management.ManagementFactory
import java.sql.Timestamp

import scala.util.Random

import io.joinless.spark.api._
import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.state.cells.ViewTreeCache
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamingQueryProgress
import org.apache.spark.sql.{DataFrame, Encoders, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Streams ten windows long: rows, log and memory are constant from the second window on, and files
  * from the fifth, with both of Spark's stores. They take minutes, so they run with `make soak`.
  */
class WindowsSoakSpec extends AnyFunSuite with SharedSpark {
  import WindowsSoakSpec._

  private val session = spark.asInstanceOf[classic.SparkSession]
  private val stores = Seq(
    "HDFSBackedStateStoreProvider" -> Nil,
    "RocksDBStateStoreProvider" -> Seq(
      "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true"
    )
  )

  for (kind <- Seq("bounded", "expire", "expire a changelog"); (store, confs) <- stores)
    if (sys.env.contains("JOINLESS_SOAK_BATCHES")) test(s"state is flat: $kind, $store") {
      ViewTreeCache.executor.clear()
      val provider =
        "spark.sql.streaming.stateStore.providerClass" -> s"org.apache.spark.sql.execution.streaming.state.$store"
      withConf(
        (provider +: confs) ++ Seq(
          "spark.sql.streaming.minBatchesToRetain" -> "2",
          "spark.sql.streaming.stateStore.maintenanceInterval" -> "1s",
          "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "3",
          "spark.sql.streaming.numRecentProgressUpdates" -> "5"
        ): _*
      ) {
        warm
        checkFlat(sizes(kind, Windows))
      }
    }

  /** Data that a new session loads is not part of the state. */
  private lazy val warm: Unit = { val _ = sizes("bounded", 2) }

  private def checkFlat(sizes: Seq[Map[String, Long]]): Unit = {
    val windows = sizes.grouped(BatchesPerWindow).toSeq
    for (name <- sizes.head.keys.toSeq.sorted) {
      val most = windows.map(_.map(_(name)).max)
      info(s"$name: ${most.mkString(", ")}")
      // Spark decides when files of older versions are deleted
      val (settled, factor) = if (name == "bytes of files") (5, 1.5) else (2, 1.1)
      assert(most.drop(settled).max <= factor * most.take(settled).max, name)
    }
  }

  /** The sizes after each batch. */
  private def sizes(kind: String, windows: Int): Seq[Map[String, Long]] = {
    val stream = MemoryStream[Reading](Encoders.product[Reading], session)
    val timed = stream.toDF().withWatermark("ts", "5 seconds")
    val query = if (kind == "bounded") {
      timed.createOrReplaceTempView("soaked")
      spark.sql(
        s"""SELECT a.v, b.v AS w, c.v AS x FROM soaked a
           |JOIN soaked b ON a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL ${Window / 2} SECONDS
           |JOIN soaked c ON b.k = c.k AND c.ts BETWEEN b.ts AND b.ts + INTERVAL ${Window / 2} SECONDS
           |WHERE c.v % 1000 = 0""".stripMargin
      )
    } else {
      val rows = if (kind == "expire") timed else timed.weightedChangelog("w")
      rows.expire("ts", s"$Window seconds").createOrReplaceTempView("soaked")
      spark.sql(
        "SELECT a.v, b.v AS w, c.v AS x FROM soaked a JOIN soaked b ON a.k = b.k JOIN soaked c ON b.k = c.k WHERE c.v % 1000 = 0"
      ).incrementalEnumerate("weight")
    }
    val checkpoint = TestFolders.create("windows").resolve("cp").toString
    val running = query.writeStream.option("checkpointLocation", checkpoint)
      .foreachBatch((df: DataFrame, _: Long) => { val _ = df.count() }).start()
    try {
      val random = new Random(1)
      var before = Seq.empty[Reading]
      for (batch <- 0 until windows * BatchesPerWindow) yield {
        val rows = Seq.fill(RowsPerBatch) {
          val second = batch * Window / BatchesPerWindow + random.nextInt(Window / BatchesPerWindow)
          Reading(1, random.nextInt(RowsPerBatch * BatchesPerWindow / 3).toLong, random.nextInt(100000), at(second))
        }
        val deleted = if (kind == "expire a changelog") before.map(_.copy(w = -1)) else Nil
        before = rows.take(RowsPerBatch / 5)
        stream.addData(rows ++ deleted)
        running.processAllAvailable()
        sizeOf(running.lastProgress, checkpoint)
      }
    } finally running.stop()
  }

  private def sizeOf(progress: StreamingQueryProgress, checkpoint: String): Map[String, Long] = {
    val of = progress.stateOperators.head
    Map(
      "rows" -> of.numRowsTotal,
      "entries of the log" -> of.customMetrics.get("logRows").longValue,
      "bytes of the views" -> of.customMetrics.get("arenaBytes").longValue,
      "bytes of files" -> bytesIn(new File(s"$checkpoint/state")),
      "heap" -> usedHeap()
    )
  }

  /** Files of older batches are deleted when Spark finds time. */
  private def bytesIn(folder: File): Long =
    Option(folder.listFiles).toSeq.flatten.map(f => if (f.isDirectory) bytesIn(f) else f.length).sum

  private def usedHeap(): Long = {
    (1 to 2).foreach { _ => System.gc(); Thread.sleep(50) }
    ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed
  }

  private def at(second: Int) = new Timestamp(1700000000000L + 1000L * second)
}

private object WindowsSoakSpec {
  final val Window = 120 // seconds
  final val Windows = 10
  final val BatchesPerWindow = 6
  final val RowsPerBatch = 4000

  final case class Reading(w: Int, k: Long, v: Int, ts: Timestamp)
}
