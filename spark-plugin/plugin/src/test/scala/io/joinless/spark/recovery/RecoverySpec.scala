package io.joinless.spark.recovery

import java.nio.file.{Files, Paths}
import io.joinless.spark.{EdgeFiles, SharedSpark}
import io.joinless.spark.recovery.CollectedQuery.metric
import io.joinless.spark.recovery.Faults._
import org.apache.spark.sql.{DataFrame, Row}
import org.apache.spark.sql.streaming.StreamingQuery
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Exactly once, whatever fails: results of each batch equal batch SQL, in 4 cells of 7 partitions.
  */
class RecoverySpec extends AnyFunSuite with SharedSpark {
  import RecoverySpec.stores

  private val threeHops =
    "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private val fourCells =
    Seq("spark.sql.shuffle.partitions" -> "7", "spark.joinless.placement.maxReplication" -> "4")

  for ((store, confs) <- stores; cache <- Seq(true, false))
    test(s"recovery_ failing tasks, failing batches, lost commits and restarts: $store, cache $cache") {
      withConf(confs ++ fourCells :+ ("spark.joinless.cache.enabled" -> cache.toString): _*) {
        val files = new EdgeFiles(spark, "e")
        val query = new CollectedQuery(files, threeHops, Faults.through)
        def exact(): Assertion = assert(query.rows.nonEmpty && query.rows == query.expected)

        (0 until 4).foreach(addRandom(files, _))
        var first: StreamingQuery = null
        val failed = arm(BeforeCommit(1, 0), AfterCommit(2, 1)) { first = query.run() }
        assert(failed == 2)
        assert(metric(first, "cacheHits") == (if (cache) Seq(0, 3, 4, 4) else Seq(0, 0, 0, 0)))
        assert(metric(first, "rebuilds") == (if (cache) Seq(0, 1, 0, 0) else Seq(0, 4, 4, 4)))
        // the task that failed after its commit finds the tree a batch ahead
        assert(metric(first, "batchesRolledBack") == (if (cache) Seq(0, 0, 1, 0) else Seq(0, 0, 0, 0)))
        exact()

        (4 until 6).foreach(addRandom(files, _))
        assert(arm(Always(4)) { assert(query.failure().getMessage.contains("on purpose")) } >= 4)
        assert(metric(query.run(), "rebuilds").head == 4)
        exact()

        deleteLastCommit(query.checkpoint)
        addRandom(files, 6)
        query.run()
        exact()

        // a second and a third action run the operator again from the same version; figures add up
        // over actions
        for (actions <- Seq[DataFrame => Any](_.count(), batch => (batch.count(), batch.collect()))) {
          (0 until 2).foreach(_ => addRandom(files, files.size))
          val run = query.run(actions)
          exact()
          if (cache) {
            assert(metric(run, "rebuilds") == Seq(4, 0))
            assert(metric(run, "batchesRolledBack").distinct == metric(run, "batchesRolledBack").take(1))
            assert(metric(run, "batchesRolledBack").head >= 4)
          }
        }
        // an action that reads only one row leaves the others unread
        (0 until 2).foreach(_ => addRandom(files, files.size))
        val peeked = query.run(_.isEmpty)
        exact()
        if (cache) assert(metric(peeked, "rebuilds").last == 0 && metric(peeked, "cacheHits").last >= 4)
      }
    }

  test("recovery_ with an operator of Spark above, over restarts") {
    withConf(fourCells: _*) {
      val files = new EdgeFiles(spark, "e")
      val query = new CollectedQuery(files, threeHops, _.dropDuplicates("src", "last"))
      for (round <- 0 until 3) {
        addRandom(files, 2 * round)
        addRandom(files, 2 * round + 1)
        val run = query.run()
        assert(run.lastProgress.stateOperators.map(_.operatorName).toSet == Set("joinFree", "dedupe"))
        val pairs = query.rows.toSeq.map { case (row, times) => ends(row) -> times }
        assert(pairs.nonEmpty && pairs.forall(_._2 == 1) && pairs.map(_._1).distinct.size == pairs.size)
        assert(pairs.map(_._1).toSet == query.expected.keySet.map(ends))
      }
    }
  }

  /** Vertices enough that there are thousands of results. Hundreds of thousands would not test
    * more.
    */
  private def addRandom(files: EdgeFiles, seed: Int): Unit = files.addRandom(seed, vertices = 80)

  private def ends(row: Row): (Any, Any) = (row.getAs[Any]("src"), row.getAs[Any]("last"))

  /** As if the driver died when a batch was done and before it was committed. */
  private def deleteLastCommit(checkpoint: String): Unit = {
    val commits = Paths.get(checkpoint, "commits")
    val last = commits.toFile.list().filter(_.matches("[0-9]+")).map(_.toLong).max
    for (name <- Seq(s"$last", s".$last.crc")) Files.deleteIfExists(commits.resolve(name))
  }
}

object RecoverySpec {
  private val rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
  val stores: Seq[(String, Seq[(String, String)])] = Seq(
    "HDFS-backed store" -> Nil,
    "RocksDB with changelog" -> Seq(
      "spark.sql.streaming.stateStore.providerClass" -> rocks,
      "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true"
    ),
    "RocksDB with checkpoint format v2" -> Seq(
      "spark.sql.streaming.stateStore.providerClass" -> rocks,
      "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true",
      "spark.sql.streaming.stateStore.checkpointFormatVersion" -> "2"
    )
  )
}
