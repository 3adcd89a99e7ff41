package io.joinless.spark.recovery

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import io.joinless.spark.api._
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{Dataset, Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** The same batches give the same kept sample, after each of them: whatever tasks fail and are
  * tried again, however often results are read, whatever batches are repeated by a restart, and
  * whether state is cached or rebuilt for each batch.
  */
class ReplayedSamplesSpec extends AnyFunSuite with SharedSpark {
  import ReplayedSamplesSpec._

  /** A query from its first batch on. */
  final private class Run(actions: Int = 1, restarts: Boolean = false) {
    private val edges = MemoryStream[Change](change, spark.asInstanceOf[classic.SparkSession])
    private val checkpoint = TestFolders.create("replayed").resolve("cp").toString
    private val batches = new ConcurrentHashMap[Long, Seq[Row]]
    private var running = start()

    private def start() = {
      edges.toDF().toDF("_change_type", "src", "dst").changelog().createOrReplaceTempView("replayed_edges")
      val write: (Dataset[Row], Long) => Unit = (rows, batch) => {
        for (_ <- 1 until actions) rows.count()
        batches.put(batch, Faults.through(rows).collect().toSeq)
        ()
      }
      spark.sql(Sampled).incrementalEnumerate("weight").writeStream.option("checkpointLocation", checkpoint)
        .foreachBatch(write).trigger(Trigger.ProcessingTime(0)).start()
    }

    private def restart(): Unit = { running.stop(); running = start() }

    /** The sample after each batch. */
    def samples(faults: Faults.Fault*): Seq[Map[Seq[Any], Long]] = {
      val failed = Faults.arm(faults: _*) {
        try Changes.foreach { changes =>
            edges.addData(changes)
            if (Try(running.processAllAvailable()).isFailure) {
              Faults.disarm()
              restart()
              running.processAllAvailable()
            } else if (restarts) restart()
          }
        finally running.stop()
      }
      assert(failed >= faults.size)
      val numbers = batches.keySet.asScala.toSeq.sorted
      numbers.map { last =>
        numbers.filter(_ <= last).flatMap(batches.get(_)).groupMapReduce(_.toSeq.init)(_.toSeq.last.asInstanceOf[Long])(
          _ + _
        ).filter(_._2 != 0L)
      }
    }
  }

  for ((cells, name) <- Seq(0 -> "one cell", 3 -> "3 cells"))
    test(s"recovery_ a batch that is played again has the same sample: $name") {
      val confs = Seq("spark.joinless.placement.maxCells" -> s"$cells", "spark.sql.shuffle.partitions" -> "3")
      withConf(confs: _*) {
        val samples = new Run().samples()
        assert(samples.size == Changes.size && samples.forall(_.values.sum == Size))
        assert(samples.sliding(2).forall(pair => pair(0) != pair(1)))
        val before = new Run().samples(Faults.BeforeCommit(1, 0), Faults.BeforeCommit(3, 0))
        assert(before == samples, "tasks fail before their commit")
        val after = new Run().samples(Faults.AfterCommit(2, 0), Faults.AfterCommit(4, 0))
        assert(after == samples, "tasks fail after their commit")
        assert(new Run().samples(Faults.Always(3)) == samples, "a batch fails, and is repeated by a restart")
        assert(new Run(actions = 3).samples() == samples, "results are read three times")
        assert(new Run(restarts = true).samples() == samples, "a restart after each batch")
        withConf("spark.joinless.cache.enabled" -> "false") {
          assert(new Run(actions = 2).samples() == samples, "state is rebuilt for each action")
        }
        if (cells == 0) withConf("spark.sql.shuffle.partitions" -> "1") {
          assert(new Run().samples() == samples, "another number of partitions")
        }
      }
    }
}

private object ReplayedSamplesSpec {
  private type Change = (String, Long, Long)
  private val change: Encoder[Change] = Encoders.product[Change]

  private val Size = 25L
  private val Sampled = s"""SELECT * FROM sample(TABLE(
    SELECT a.src, b.src AS via, b.dst, c.dst AS last
    FROM replayed_edges a JOIN replayed_edges b ON a.dst = b.src JOIN replayed_edges c ON b.dst = c.src), $Size, 7)"""

  /** 80 edges among 8 vertices; then a fifth of them leave in each batch, and as many others come. */
  private val Changes: Seq[Seq[Change]] = {
    val random = new Random(5)
    def edge() = (random.nextInt(8).toLong, random.nextInt(8).toLong)
    var present = Vector.fill(80)(edge())
    val first = present.map { case (src, dst) => ("insert", src, dst) }
    first +: Seq.fill(5) {
      val (leaving, staying) = random.shuffle(present).splitAt(16)
      val coming = Vector.fill(16)(edge())
      present = staying ++ coming
      leaving.map { case (src, dst) => ("delete", src, dst) } ++ coming.map { case (src, dst) => ("insert", src, dst) }
    }
  }
}
