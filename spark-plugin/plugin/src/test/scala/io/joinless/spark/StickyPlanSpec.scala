package io.joinless.spark

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.reflect.ClassTag

import io.joinless.spark.errors.JoinlessAnalysisException
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.streaming.{StreamingQuery, StreamingQueryException, Trigger}
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** The records of a checkpoint decide how its query continues. A query that does not fit is refused
  * by name at its start, and nothing under state/ is changed.
  */
class StickyPlanSpec extends AnyFunSuite with SharedSpark {

  private val threeHops = "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val twoHops = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"

  /** A fresh stream with one file of edges. */
  private def withFiles(body: EdgeFiles => Any): Unit = {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    val _ = body(files)
  }

  private def run(files: EdgeFiles, sql: String): StreamingQuery = files.run(files.streaming(sql))

  private def check(files: EdgeFiles, sql: String): Assertion = {
    val rows = spark.read.parquet(files.path("out")).collect().toSeq
    assert(EdgeFiles.sorted(rows) == files.expected(sql))
  }

  private def operators(query: StreamingQuery): Seq[String] =
    query.recentProgress.last.stateOperators.map(_.operatorName).toSeq

  /** The query is refused at its start, and the files under state/ are as before. */
  private def refused(files: EdgeFiles, sql: String, condition: String): SparkThrowable =
    refused[JoinlessAnalysisException](files, condition)(run(files, sql))

  /** The same by the first batch, for differences that only the batch knows. */
  private def refusedLater(files: EdgeFiles, sql: String, condition: String): SparkThrowable =
    refused[StreamingQueryException](files, condition)(run(files, sql))

  private def refused[E <: Throwable: ClassTag](files: EdgeFiles, condition: String)(run: => Any): SparkThrowable = {
    val before = state(files)
    val error = ours(intercept[E](run))
    assert(error.getCondition == condition, error.getMessage)
    assert(state(files) == before)
    error
  }

  private def ours(error: Throwable): Throwable with SparkThrowable =
    Iterator
      .iterate(error)(_.getCause)
      .takeWhile(_ != null)
      .collectFirst {
        case e: SparkThrowable if e.getCondition.startsWith("JOINLESS_") =>
          e.asInstanceOf[Throwable with SparkThrowable]
      }
      .getOrElse(fail(error))

  private def state(files: EdgeFiles): Map[String, Seq[Byte]] = {
    val folder = Paths.get(files.path("cp"), "state")
    val walk = Files.walk(folder)
    try walk.iterator.asScala.filter(Files.isRegularFile(_)).map(p => p.toString -> Files.readAllBytes(p).toSeq).toMap
    finally walk.close()
  }

  private def metadata(files: EdgeFiles): Path = {
    val folder = Paths.get(files.path("cp"), "state", "0", "_metadata", "v2")
    val found = Files.list(folder)
    try found.iterator.asScala.filterNot(_.getFileName.toString.startsWith(".")).maxBy(_.getFileName.toString.toLong)
    finally found.close()
  }

  private def rewrite(file: Path)(change: String => String): Unit = {
    val _ = Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    val _ = Files.writeString(file, change(Files.readString(file)))
  }

  private def addOne(files: EdgeFiles): Unit = files.addRandom(2)

  test("recovery_the shares of the first run go on, whatever partitions and confs a restart asks for") {
    withFiles { files =>
      withConf("spark.sql.shuffle.partitions" -> "4")(run(files, threeHops))
      val cells = metadataText(files)
      addOne(files)
      withConf("spark.sql.shuffle.partitions" -> "2", "spark.joinless.placement.maxReplication" -> "1") {
        run(files, threeHops)
      }
      assert(metadataText(files) == cells)
      check(files, threeHops)
    }
  }

  private def metadataText(files: EdgeFiles): String =
    "shares.{0,30}".r.findFirstIn(Files.readString(metadata(files))).get

  test("recovery_a checkpoint of Spark's own joins goes on natively") {
    withFiles { files =>
      val first = withConf("spark.joinless.enabled" -> "false")(run(files, threeHops))
      assert(operators(first) == Seq("symmetricHashJoin", "symmetricHashJoin"))
      addOne(files)
      assert(operators(run(files, threeHops)) == Seq("symmetricHashJoin", "symmetricHashJoin"))
      check(files, threeHops)
    }
  }

  test("recovery_a recorded block goes on, though new ones of its kind would not be rewritten") {
    withFiles { files =>
      withConf("spark.joinless.minRelations" -> "2")(run(files, twoHops))
      addOne(files)
      assert(operators(run(files, twoHops)) == Seq("joinFree"))
      check(files, twoHops)
    }
  }

  test("recovery_a block beside a native operator keeps its id") {
    withFiles { files =>
      val counted = s"SELECT DISTINCT src FROM ($threeHops)"
      def run(): StreamingQuery = files.run(files.streaming(threeHops).dropDuplicates("src"))
      assert(operators(run()).toSet == Set("joinFree", "dedupe"))
      addOne(files)
      assert(operators(run()).toSet == Set("joinFree", "dedupe"))
      spark.read.parquet(files.path("out")).createOrReplaceTempView("found")
      assert(EdgeFiles.sorted(spark.sql("SELECT src FROM found").collect().toSeq) == files.expected(counted))
    }
  }

  test(
    "recovery_several blocks go on by ordinal, and a native join beside them stays one, whatever could be rewritten now"
  ) {
    withFiles { files =>
      val star = "SELECT a.src, c.dst FROM e a JOIN e b ON a.src = b.src JOIN e c ON a.src = c.src"
      val query = s"$threeHops UNION ALL $twoHops UNION ALL $star"
      val names = Seq("joinFree", "joinFree", "symmetricHashJoin")
      assert(operators(run(files, query)).sorted == names)
      addOne(files)
      withConf("spark.joinless.minRelations" -> "1")(assert(operators(run(files, query)).sorted == names))
      check(files, query)
      files.addRandom(3)
      refused(files, s"$star UNION ALL $twoHops UNION ALL $threeHops", "JOINLESS_STATE_MISMATCH.COLUMNS")
      assert(operators(run(files, query)).sorted == names)
      check(files, query)
    }
  }

  test("recovery_another query is refused in words of columns") {
    withFiles { files =>
      val _ = run(files, threeHops)
      addOne(files)
      val onDst = "SELECT a.src, c.src AS s FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.dst"
      assert(refused(files, onDst, "JOINLESS_STATE_MISMATCH.QUERY").getMessageParameters.get("what").contains(
        "relation 3.dst"
      ))
      val output = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
      assert(refused(files, output, "JOINLESS_STATE_MISMATCH.COLUMNS").getMessageParameters.get("what").nonEmpty)
      refused(files, s"$twoHops UNION ALL SELECT src, dst FROM e", "JOINLESS_STATE_MISMATCH.QUERY")
      val none = "SELECT src, dst FROM e UNION ALL SELECT src, dst FROM e UNION ALL SELECT src, dst FROM e"
      assert(refused(files, none, "JOINLESS_STATE_MISMATCH.QUERY").getMessageParameters.get("what").contains(
        "a join of a, b, c"
      ))
      run(files, s"$threeHops AND a.src <> c.dst") // conditions may change, as in Spark
      run(files, threeHops.replace("a.", "x.").replace("e a", "e x"))
    }
  }

  test("recovery_a relation more or less, and another FROM order, are refused though there is nothing new to read") {
    withFiles { files =>
      val (f, g) = (new EdgeFiles(spark, "f"), new EdgeFiles(spark, "g"))
      Seq(f, g).foreach(_.addRandom(2))
      def streams(): Unit = Seq(f, g).foreach(_.streaming("SELECT 1"))
      val hops = "SELECT e.src, g.dst FROM e JOIN f ON e.dst = f.src JOIN g ON f.dst = g.src"
      streams()
      val _ = run(files, hops)
      def what(sql: String): String =
        refused(files, sql, "JOINLESS_STATE_MISMATCH.QUERY").getMessageParameters.get("what")
      assert(
        what(hops + " JOIN e h ON g.dst = h.src").contains("It joins 3 relations (e, f, g), the query 4 (e, f, g, h)")
      )
      assert(what("SELECT e.src, f.dst FROM e JOIN f ON e.dst = f.src").contains("the query 2 (e, f)"))
      assert(what("SELECT src, dst FROM e").contains("a join of e, f, g, which the query does not have"))
      assert(what("SELECT e.src, g.dst FROM g JOIN f ON f.dst = g.src JOIN e ON e.dst = f.src").contains("It joins on"))
      run(files, hops)
    }
    withFiles { files =>
      val _ = run(files, threeHops) // its scans share one source
      val more = threeHops.replace("c.dst", "d.dst") + " JOIN e d ON c.dst = d.src"
      assert(
        refused(files, more, "JOINLESS_STATE_MISMATCH.QUERY").getMessageParameters.get("what").contains("the query 4")
      )
      refused(files, twoHops, "JOINLESS_STATE_MISMATCH.QUERY")
      run(files, threeHops)
    }
  }

  test("recovery_expressions of the current time do not make a query another one") {
    withFiles { files =>
      val sql = s"$threeHops WHERE a.src < unix_seconds(current_timestamp()) AND c.dst < year(current_date()) AND " +
        "b.src < unix_seconds(current_timestamp())"
      val _ = run(files, sql)
      addOne(files)
      val _ = run(files, sql)
      check(files, sql)
    }
  }

  test("recovery_a tampered, unreadable or missing record is refused") {
    withFiles { files =>
      val _ = run(files, threeHops)
      addOne(files)
      val file = metadata(files)
      val good = Files.readString(file)
      def broken(condition: String)(change: String => String): SparkThrowable = {
        rewrite(file)(_ => change(good))
        refused(files, threeHops, condition)
      }
      broken("JOINLESS_STATE_MISMATCH.UNREADABLE")(_.replaceAll("shares..:\\[", "$09,"))
      broken("JOINLESS_STATE_MISMATCH.UNREADABLE")(_.take(60))
      broken("JOINLESS_STATE_MISMATCH.UNREADABLE")(_ => "")
      broken("JOINLESS_STATE_MISMATCH.FORMAT")(_.replaceAll("(specVersion\\\\\":)2", "$17"))
      rewrite(file)(_ => good.replaceAll("(\"numPartitions\":)2", "$13"))
      refusedLater(files, threeHops, "JOINLESS_STATE_MISMATCH.CELLS")
      Files.delete(file)
      refused(files, threeHops, "JOINLESS_STATE_MISMATCH.UNREADABLE")
      rewrite(Files.createFile(file))(_ => good)
      run(files, threeHops)
      check(files, threeHops)
    }
  }

  test("recovery_a batch 0 that was planned but never committed goes on as it was planned") {
    withFiles { files =>
      val fails = files
        .streaming(threeHops)
        .writeStream
        .option("checkpointLocation", files.path("cp"))
        .foreachBatch { (_: org.apache.spark.sql.DataFrame, _: Long) => throw new IllegalStateException("on purpose") }
      def start(): StreamingQuery = fails.trigger(Trigger.AvailableNow()).start()
      intercept[StreamingQueryException](withConf("spark.sql.shuffle.partitions" -> "4")(start().awaitTermination()))
      val shares = metadataText(files)
      run(files, threeHops)
      assert(metadataText(files) == shares)
      check(files, threeHops)
    }
  }

  test("force raises the reason at start, also where only the checkpoint says so") {
    withFiles { files =>
      withConf("spark.joinless.mode" -> "force") {
        val error = intercept[JoinlessAnalysisException](run(files, twoHops))
        assert(error.getCondition == "JOINLESS_NOT_REWRITTEN")
        assert(error.getSqlState == "0A000")
        assert(error.getMessageParameters.get("reason") == "TOO_FEW_RELATIONS")
      }
      withConf("spark.joinless.enabled" -> "false", "spark.joinless.mode" -> "force")(run(files, threeHops))
      addOne(files)
      withConf("spark.joinless.mode" -> "force") {
        val error = intercept[JoinlessAnalysisException](run(files, threeHops))
        assert(error.getMessageParameters.get("reason") == "EXISTING_SPARK_STATE")
      }
    }
    withFiles { files =>
      withConf("spark.joinless.minRelations" -> "2")(run(files, twoHops))
      addOne(files)
      withConf("spark.joinless.mode" -> "force")(assert(operators(run(files, twoHops)) == Seq("joinFree")))
      check(files, twoHops)
    }
  }
}
