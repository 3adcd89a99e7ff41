package io.joinless.spark

import java.nio.file.{Files, Paths}

import io.joinless.spark.api._
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Queries in Spark's test mode: the plans that we transform pass Spark's own checks. */
class SparkTestModeSpec extends AnyFunSuite with SharedSpark {

  private val twoHops = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"
  private val threeHops = "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private def operators(query: StreamingQuery): Seq[String] =
    query.recentProgress.last.stateOperators.map(_.operatorName).toSeq

  /** Runs and restarts the query; its rows are Spark's. */
  private def runs(sql: String, joinFree: Boolean, confs: (String, String)*): Assertion = SparkTestMode.on {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    withConf(confs: _*) {
      assert(operators(files.run(files.streaming(sql, Some(3)))).contains("joinFree") == joinFree)
      (2 to 4).foreach(files.addRandom(_))
      files.run(files.streaming(sql, Some(3)))
    }
    val shared = Files.exists(Paths.get(files.path("cp"), "joinless", "sources"))
    assert(shared == (joinFree && !confs.exists(_._1.endsWith("shareSources"))))
    assert(EdgeFiles.sorted(spark.read.parquet(files.path("out")).collect().toSeq) == files.expected(sql))
  }

  private val force = "spark.joinless.mode" -> "force"

  test("a self-join whose places share a source, also when it is forced")(runs(threeHops, joinFree = true, force))

  test("a self-join of several sources whose scans merge") {
    runs(threeHops, joinFree = true, force, "spark.joinless.shareSources" -> "false")
  }

  test("a join that Spark keeps")(runs(twoHops, joinFree = false))

  test("no join at all")(runs("SELECT src, dst FROM e UNION ALL SELECT dst, src FROM e", joinFree = false))

  test("two joins, one of them inside a leaf of the other") {
    runs(
      s"SELECT x.src, d.dst FROM (SELECT src, dst FROM ($threeHops) WHERE rand(7) <= 1) x JOIN e d ON x.dst = d.src " +
        "JOIN e f ON d.dst = f.src",
      joinFree = true
    )
  }

  test("the complete result with computed columns, read while Spark analyzes") {
    SparkTestMode.on {
      val files = new EdgeFiles(spark, "e")
      (1 to 2).foreach(files.addRandom(_))
      val sql =
        "SELECT a.src + 1 AS n, upper(CAST(c.dst AS STRING)) AS s FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
      files.run(files.streaming(sql))
      val read = spark.read.format("joinless").load(files.path("cp"))
      read.createOrReplaceTempView("complete")
      val rows = EdgeFiles.sorted(spark.sql("SELECT n, s FROM complete WHERE n IS NOT NULL").collect().toSeq)
      assert(rows.nonEmpty && rows == files.expected(s"SELECT * FROM ($sql) WHERE n IS NOT NULL"))
    }
  }

  test("changes of a result, and a sink that reads a batch twice") {
    SparkTestMode.on {
      val files = new EdgeFiles(spark, "e")
      (1 to 3).foreach(files.addRandom(_))
      val feed = files.streaming("SELECT src, dst, 'insert' AS _change_type FROM e WHERE src <> dst")
      feed.changelog().createOrReplaceTempView("e")
      val seen = scala.collection.mutable.ArrayBuffer.empty[Row]
      val write: (DataFrame, Long) => Unit = (batch, _) => {
        batch.collect()
        val _ = seen ++= batch.collect()
      }
      spark.sql(threeHops).incrementalEnumerate().writeStream.foreachBatch(write)
        .option("checkpointLocation", files.path("cp")).trigger(Trigger.AvailableNow()).start().awaitTermination()
      val expected =
        files.expected(s"SELECT *, 'insert' FROM (${threeHops.replace(" e ", " (SELECT * FROM e WHERE src <> dst) ")})")
      assert(seen.nonEmpty && EdgeFiles.sorted(seen.toSeq) == expected)
    }
  }
}
