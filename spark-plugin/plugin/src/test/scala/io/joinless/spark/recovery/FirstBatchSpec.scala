package io.joinless.spark.recovery

import java.nio.file.{Files, Path}

import scala.collection.concurrent.TrieMap
import scala.jdk.CollectionConverters._

import io.joinless.spark.api._
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.{Dataset, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** A stop in the first batch, which left the metadata of some operators only: the next start begins
  * operators without metadata anew, and continues those with metadata.
  */
class FirstBatchSpec extends AnyFunSuite with SharedSpark {
  private val session = spark.asInstanceOf[classic.SparkSession]

  final private class Query(sql: String) {
    private val pair = Encoders.tuple(Encoders.scalaInt, Encoders.scalaInt)
    private val r = MemoryStream[(Int, Int)](pair, session)
    private val s = MemoryStream[(Int, Int)](pair, session)
    r.toDF().toDF("a", "b").createOrReplaceTempView("r")
    s.toDF().toDF("a", "b").createOrReplaceTempView("s")
    val checkpoint: Path = TestFolders.create("first").resolve("cp")
    val emitted = TrieMap.empty[Long, Seq[Row]]

    def add(): Unit = {
      r.addData((1, 2), (1, 3), (2, 3))
      val _ = s.addData((2, 5), (3, 5), (3, 6))
    }

    def run(other: String = sql): Unit = {
      val take: (Dataset[Row], Long) => Unit = (batch, id) => emitted(id) = batch.collect().toSeq
      val query = spark.sql(other).incrementalEnumerate("weight").writeStream
        .option("checkpointLocation", checkpoint.toString).foreachBatch(take).start()
      try query.processAllAvailable()
      finally query.stop()
    }

    def sum: Map[Seq[Any], Long] =
      emitted.values.flatten.groupMapReduce(_.toSeq.init)(_.getAs[Long]("_weight"))(_ + _).filter(_._2 != 0L)

    def operators: Seq[Path] = {
      val files = Files.list(checkpoint.resolve("state"))
      try files.iterator.asScala.toSeq.filter(_.getFileName.toString.matches("[0-9]+"))
      finally files.close()
    }

    /** As if the query had been stopped before it wrote the metadata of an operator. */
    def stoppedBefore(operator: Path): Unit = {
      delete(operator)
      delete(checkpoint.resolve("commits"))
    }

    private def delete(path: Path): Unit = if (Files.exists(path)) {
      if (Files.isDirectory(path)) {
        val files = Files.list(path)
        try files.iterator.asScala.toSeq.foreach(delete)
        finally files.close()
      }
      Files.delete(path)
    }
  }

  private val queries = Seq(
    "SELECT r.a, COUNT(*) AS n FROM r JOIN s ON r.b = s.a GROUP BY r.a" -> Map[Seq[Any], Long](
      Seq(1, 3L) -> 1L,
      Seq(2, 2L) -> 1L
    ),
    "SELECT g.n, s.b FROM (SELECT b, COUNT(*) AS n FROM r GROUP BY b) g JOIN s ON g.b = s.a" -> Map[Seq[Any], Long](
      Seq(1L, 5) -> 1L,
      Seq(2L, 5) -> 1L,
      Seq(2L, 6) -> 1L
    )
  )

  for ((sql, expected) <- queries; lacking <- 0 until 2)
    test(s"stopped before operator $lacking had its metadata: $sql") {
      val query = new Query(sql)
      query.add()
      query.run()
      assert(query.sum == expected && query.operators.size == 2)
      query.stoppedBefore(query.checkpoint.resolve(s"state/$lacking"))
      query.emitted.clear()
      query.run()
      assert(query.sum == expected)
      query.add()
      query.run()
      assert(query.emitted.size == 2)
      query.run()
      query.add()
      query.run()
      assert(query.emitted.size == 3)
    }

  test(
    "what is there is in force: another query is refused, and so is one that lacks an operator once a batch is done"
  ) {
    val sql = queries.head._1
    val query = new Query(sql)
    query.add()
    query.run()
    query.stoppedBefore(query.checkpoint.resolve("state/0"))
    def refused(other: String): Unit = {
      val e = intercept[Exception](query.run(other))
      val conditions = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).collect {
        case known: SparkThrowable => known.getCondition
      }
      val _ = assert(conditions.exists(c => c != null && c.startsWith("JOINLESS_STATE_MISMATCH")), e)
    }
    refused(sql.replace("r.b = s.a", "r.a = s.a"))
    query.run()
    refused("SELECT DISTINCT a FROM r")
  }
}
