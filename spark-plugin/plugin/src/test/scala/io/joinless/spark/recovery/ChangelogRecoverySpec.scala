package io.joinless.spark.recovery

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.changes.Changes
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.recovery.CollectedQuery.metric
import java.util.concurrent.ConcurrentHashMap
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Dataset, Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite
import scala.jdk.CollectionConverters._
import scala.util.Random

/** Rows are inserted and deleted through running queries, on real stores: logs are cleaned, and
  * hold exactly the present rows.
  */
class ChangelogRecoverySpec extends AnyFunSuite with SharedSpark {
  import ChangelogRecoverySpec._

  /** Facts (key, payload) and one dimension row per key; the query's changes, added up. */
  final private class Churn(seed: Long) {
    private val random = new Random(seed)
    private val session = spark.asInstanceOf[classic.SparkSession]
    private val facts = MemoryStream[Change](changes, session)
    private val dimension = MemoryStream[Change](changes, session)
    private val checkpoint = TestFolders.create("churn").resolve("cp").toString
    private val batches = new ConcurrentHashMap[Long, Seq[Row]]
    private var present = Vector.fill(60)(fresh())

    facts.addData(present.map { case (k, p) => ("insert", k, p) })
    dimension.addData((0L until 12L).map(k => ("insert", k, -k)))

    private def fresh() = (random.nextInt(12).toLong, random.nextInt(1000000).toLong)

    def replace(): Unit = {
      val (deleted, stay) = random.shuffle(present).splitAt(6)
      val inserted = deleted.map { case (k, _) =>
        if (random.nextBoolean()) (k, random.nextInt(1000000).toLong) else fresh()
      }
      present = stay ++ inserted
      val _ = facts.addData(random.shuffle(deleted.map { case (k, p) => ("delete", k, p) } ++ inserted.map {
        case (k, p) =>
          ("insert", k, p)
      }))
    }

    /** One batch, in a run of its own or the one that is given. */
    def run(): StreamingQuery = {
      Changes.changelog(facts.toDF().toDF("_change_type", "k", "p"), None, None).createOrReplaceTempView("churn_facts")
      val other = Changes.changelog(dimension.toDF().toDF("_change_type", "k", "q"), None, None)
      other.createOrReplaceTempView("churn_dimension")
      val joined = spark.sql("SELECT f.p, d.k, d.q FROM churn_facts f JOIN churn_dimension d ON f.k = d.k")
      val write: (Dataset[Row], Long) => Unit = (rows, batch) => {
        if (twoActions(batch)) rows.count()
        batches.put(batch, Faults.through(rows).collect().toSeq)
        ()
      }
      val emitted: DataFrame = Changes.deltas(joined, DeltaForm.Weight)
      emitted.writeStream.option("checkpointLocation", checkpoint).foreachBatch(write)
        .trigger(Trigger.ProcessingTime(0)).start()
    }

    def check(): Unit = {
      val sum = batches.values.asScala.toSeq.flatten
        .groupMapReduce(r => (r.getLong(0), r.getLong(1), r.getLong(2)))(_.getLong(3))(_ + _).filter(_._2 != 0)
      val expected = present.groupMapReduce { case (k, p) => (p, k, -k) }(_ => 1L)(_ + _)
      val _ = assert(sum == expected)
    }
  }

  for ((store, confs) <- RecoverySpec.stores; cache <- Seq(true, false))
    test(s"recovery_ churn, failing tasks and restarts: $store, cache $cache") {
      val more = Seq("spark.sql.shuffle.partitions" -> "3", "spark.joinless.cache.enabled" -> cache.toString)
      withConf(confs ++ more: _*) {
        val churn = new Churn(7)
        var logged = Seq.empty[Long]
        for (round <- 0 until 3) {
          val query = churn.run()
          try {
            query.processAllAvailable()
            for (batch <- 1 to 12) {
              churn.replace()
              val faults = if (batch == 5)
                Seq(Faults.BeforeCommit(12L * round + 5, 0), Faults.AfterCommit(12L * round + 5, 1))
              else Nil
              val failed = Faults.arm(faults: _*)(query.processAllAvailable())
              assert(failed == faults.size)
              churn.check()
            }
            // figures add up over actions
            logged ++= query.recentProgress.filter(p => p.numInputRows > 0 && !twoActions(p.batchId))
              .map(_.stateOperators.head.customMetrics.get("logRows").longValue)
            // the changes of another action are rolled back; at most the task that failed before
            // its commit lost its tree
            if (cache) assert(metric(query, "rebuilds").tail.sum <= 1 && metric(query, "batchesRolledBack").sum >= 12)
          } finally query.stop()
        }
        // 60 facts in 3 cells and 12 rows of the dimension, once each
        info(s"entries in the logs: ${logged.mkString(", ")}")
        assert(logged.max <= 2.2 * 72 && logged.last < logged.max)
      }
    }
}

object ChangelogRecoverySpec {

  /** Another action runs before the one whose rows are kept. */
  private def twoActions(batch: Long): Boolean = batch % 3 == 0

  private type Change = (String, Long, Long)
  private val changes: Encoder[Change] = Encoders.product[Change]
}
