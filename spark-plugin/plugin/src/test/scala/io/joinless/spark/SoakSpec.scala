package io.joinless.spark

import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.state.cells.ViewTreeCache
import java.lang.management.ManagementFactory
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Encoders, classic}
import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable

/** Many tiny batches: memory stays constant, and the cache holds one view tree per cell. They take
  * long, so they run only if JOINLESS_SOAK_BATCHES gives their number of each kind: `make soak`, a
  * part of `make test-long`.
  *
  * Appended rows stay, so their log does: in files with the RocksDB store, on the heap with Spark's
  * default one. There a block per batch would be visible: 750 bytes each.
  */
class SoakSpec extends AnyFunSuite with SharedSpark {
  private val batches: Int = sys.env.getOrElse("JOINLESS_SOAK_BATCHES", "0").toInt
  private val rocksDB = Seq(
    "spark.sql.streaming.stateStore.providerClass" ->
      "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true"
  )
  private val session = spark.asInstanceOf[classic.SparkSession]

  /** Bytes in use after collections. */
  private def heap(): Long = {
    (1 to 3).foreach { _ => System.gc(); Thread.sleep(100) }
    ManagementFactory.getMemoryMXBean.getHeapMemoryUsage.getUsed
  }

  /** Heap after a third (of long runs a tenth) and after all of the batches, of one row each; the
    * least of three, since other threads of Spark are running.
    */
  private def soak(name: String, df: DataFrame)(add: Int => Any): Unit = {
    ViewTreeCache.executor.clear()
    val checkpoint = TestFolders.create("soak").resolve("cp").toString
    val query: StreamingQuery = df.writeStream.format("noop")
      .option("checkpointLocation", checkpoint).trigger(Trigger.ProcessingTime(0)).start()
    try {
      val early = if (batches >= 1000) batches / 10 else batches / 3
      val (before, after) = (mutable.Buffer.empty[Long], mutable.Buffer.empty[Long])
      for (i <- 0 until batches) {
        add(i)
        query.processAllAvailable()
        for ((end, looks) <- Seq(early -> before, batches -> after) if i < end && i >= end - 3) looks += heap()
      }
      val operator = query.lastProgress.stateOperators.head
      info(f"$name: ${before.min / 1e6}%.1f MB after $early batches, ${after.min / 1e6}%.1f MB after $batches")
      assert(after.min < 1.1 * before.min)
      val _ = assert(ViewTreeCache.executor.size == operator.numStateStoreInstances)
    } finally query.stop()
  }

  for ((store, confs) <- Seq("default store" -> Nil, "RocksDB" -> rocksDB))
    if (batches > 0) test(s"appended rows, one per batch: $store") {
      val edges = MemoryStream[(Long, Long)](Encoders.product[(Long, Long)], session)
      edges.toDF().toDF("src", "dst").createOrReplaceTempView("soaked")
      val sql = "SELECT a.src, c.dst FROM soaked a JOIN soaked b ON a.dst = b.src JOIN soaked c ON b.dst = c.src"
      withConf(confs: _*)(soak(s"appended, $store", spark.sql(sql))(i => edges.addData((i.toLong, i + 1L))))
    }

  if (batches > 0) test("rows that are inserted and deleted, one pair per batch") {
    val changes = MemoryStream[(String, Long, Long)](Encoders.product[(String, Long, Long)], session)
    val rows = changes.toDF().toDF("_change_type", "k", "v")
    Changes.changelog(rows, None, None).createOrReplaceTempView("churned")
    val joined =
      spark.sql("SELECT a.v, b.v AS w, c.v AS x FROM churned a, churned b, churned c WHERE a.k = b.k AND b.k = c.k")
    soak("changes", Changes.deltas(joined, DeltaForm.Weight)) { i =>
      changes.addData(("insert", i % 7L, i.toLong))
      if (i >= 10) changes.addData(("delete", (i - 10) % 7L, i - 10L))
    }
  }

  test("where only some of the view trees may stay, results are right and the others are rebuilt") {
    val files = new EdgeFiles(spark, "e")
    val sql =
      "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    (0 until 6).foreach(files.addRandom(_))
    ViewTreeCache.executor.clear()
    withConf("spark.sql.shuffle.partitions" -> "4", "spark.joinless.cache.maxBytes" -> "56000") {
      val query = files.run(files.streaming(sql))
      val rebuilds = query.recentProgress.map(_.stateOperators.head.customMetrics.get("rebuilds").longValue)
      assert(rebuilds.sum > 0, "the bound was not hit")
      assert(ViewTreeCache.executor.bytes <= 56000)
    }
    assert(EdgeFiles.sorted(spark.read.parquet(files.path("out")).collect().toSeq) == files.expected(sql))
  }
}
