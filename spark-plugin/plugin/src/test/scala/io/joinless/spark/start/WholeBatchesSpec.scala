package io.joinless.spark.start

import io.joinless.spark.{EdgeFiles, SharedSpark}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.joinless.RunningQuery
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import org.scalatest.funsuite.AnyFunSuite

class WholeBatchesSpec extends AnyFunSuite with SharedSpark {

  private val threeHops =
    "SELECT a.src, b.src AS via, b.dst, c.dst AS last FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private def start(files: EdgeFiles, sql: String)(each: DataFrame => Any): StreamingQuery =
    files
      .streaming(sql)
      .writeStream
      .option("checkpointLocation", files.path("cp"))
      .trigger(Trigger.AvailableNow())
      .foreachBatch { (batch: DataFrame, _: Long) =>
        val _ = each(batch)
      }
      .start()

  private def sinkOf(sql: String, confs: (String, String)*): String = {
    val files = new EdgeFiles(spark, "e")
    files.add(1 -> 2)
    withConf(confs: _*) {
      val query = start(files, sql)(_.collect())
      query.awaitTermination()
      assert(query.lastProgress.sink.description == "ForeachBatchSink")
      RunningQuery.sink(query)
    }
  }

  test("a sink is put around the user's where a join may be ours, and nowhere else") {
    assert(sinkOf(threeHops) == "CheckedSink")
    assert(sinkOf(threeHops, "spark.joinless.enabled" -> "false") == "ForeachBatchSink")
    assert(sinkOf("SELECT src FROM e") == "ForeachBatchSink")
  }

  test("a batch of which some cells were read is not marked as done, a restart runs it again") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    files.addRandom(2)
    var found = Seq.empty[String]
    def collect(batch: DataFrame): Unit = found ++= EdgeFiles.sorted(batch.collect().toSeq)
    var batches = 0
    val failed = start(files, threeHops) { batch =>
      if (batches == 0) collect(batch) else batch.take(1)
      batches += 1
    }
    val error = intercept[StreamingQueryException](failed.awaitTermination())
    val text = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString("\n")
    assert(
      text.contains("[JOINLESS_BATCH_NOT_READ]") && text.contains("batch 1: ") && text.contains("of 2 partitions"),
      text
    )
    start(files, threeHops)(collect).awaitTermination()
    assert(found.sorted == files.expected(threeHops))
  }

  test("an error of the user's function stays the user's") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    val query = start(files, threeHops)(_ => throw new IllegalStateException("no room"))
    assert(intercept[StreamingQueryException](query.awaitTermination()).getMessage.contains("no room"))
  }
}
