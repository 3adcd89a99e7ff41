package io.joinless.spark

import java.nio.file.{Files, Path, Paths}

import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.exec.RolesAndCellsExec
import io.joinless.spark.rules.scans.{SeparateScans, SharedMark, SharedSources}
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.{Plans, RunningQuery}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** One source for all scans of a join that read the same stream: chosen once per checkpoint, never
  * changing a result.
  */
class SharedSourcesSpec extends AnyFunSuite with SharedSpark {

  private val threeHops =
    "SELECT a.src, b.dst AS via, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src WHERE c.dst > 5"

  /** Several files per batch, so that separate sources could list different ones. */
  private def run(files: EdgeFiles, sql: String): StreamingQuery = files.run(files.streaming(sql, Some(3)))

  private def sources(query: StreamingQuery): Int = query.recentProgress.head.sources.length

  private def scans(query: StreamingQuery): Int =
    RunningQuery.plan(query).collect { case scan: RolesAndCellsExec if scan.roles.nonEmpty => scan }.size

  private def record(files: EdgeFiles): Path = Paths.get(files.path("cp"), "joinless", "sources")

  private def check(files: EdgeFiles, sql: String): Assertion = {
    val rows = EdgeFiles.sorted(spark.read.parquet(files.path("out")).collect().toSeq)
    assert(rows.nonEmpty && rows == files.expected(sql))
  }

  private def withFiles(body: EdgeFiles => Any): Unit = {
    val files = new EdgeFiles(spark, "e")
    (1 to 5).foreach(files.addRandom(_))
    val _ = body(files)
  }

  test("places that read the same files share a source and a scan, over a restart too") {
    withFiles { files =>
      val first = run(files, threeHops)
      assert((sources(first), scans(first)) == (1, 1))
      assert(first.recentProgress.map(_.numInputRows).sum == 5 * 60)
      assert(Files.readString(record(files)) == "v1 0 0 0\n")
      check(files, threeHops)
      (6 to 9).foreach(files.addRandom(_))
      assert(sources(run(files, threeHops)) == 1)
      check(files, threeHops)
    }
  }

  test("a checkpoint begun with separate sources goes on with them, one begun with shared ones stays so") {
    withFiles { files =>
      withConf("spark.joinless.shareSources" -> "false")(assert(sources(run(files, threeHops)) == 3))
      assert(!Files.exists(record(files)))
      (6 to 7).foreach(files.addRandom(_))
      assert(sources(run(files, threeHops)) == 3)
      check(files, threeHops)
    }
    withFiles { files =>
      run(files, threeHops)
      (6 to 7).foreach(files.addRandom(_))
      withConf("spark.joinless.shareSources" -> "false", "spark.joinless.minRelations" -> "4") {
        assert(sources(run(files, threeHops)) == 1)
      }
      check(files, threeHops)
    }
  }

  test("a query that Spark keeps keeps Spark's sources, and so does a stream that is also read beside the block") {
    withFiles { files =>
      val twoHops = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"
      assert(sources(run(files, twoHops)) == 2)
      assert(!Files.exists(record(files)))
      check(files, twoHops)
    }
    withFiles { files =>
      val beside = s"SELECT src, dst FROM (${threeHops.replace(", b.dst AS via", "")}) UNION ALL SELECT src, dst FROM e"
      // Spark itself unifies a and the stream outside of the block; b and c are ours alone
      assert(sources(run(files, beside)) == 2)
      check(files, beside)
    }
  }

  test("a query whose streams the recorded sources do not fit is refused, and nothing is written") {
    withFiles { files =>
      run(files, threeHops)
      files.addRandom(6)
      for (
        (other, what) <- Seq(
          threeHops + " UNION ALL SELECT 1L, 2L, dst FROM e" -> "3 streams from 1 shared sources",
          "SELECT src, dst FROM e" -> "a join of a, b, c, which the query does not have"
        )
      ) {
        val error = intercept[JoinlessAnalysisException](run(files, other))
        assert(error.getCondition == "JOINLESS_STATE_MISMATCH.QUERY", error.getMessage)
        assert(error.getMessage.contains(what), error.getMessage)
      }
      run(files, threeHops)
      check(files, threeHops)
    }
  }

  test("a record that is lost is refused, whatever the settings are by now") {
    withFiles { files =>
      run(files, threeHops)
      val kept = Files.readAllBytes(record(files))
      Files.delete(record(files))
      files.addRandom(6)
      for (shares <- Seq("true", "false")) withConf("spark.joinless.shareSources" -> shares) {
        val error = intercept[JoinlessAnalysisException](run(files, threeHops))
        assert(error.getCondition == "JOINLESS_STATE_MISMATCH.UNREADABLE", error.getMessage)
        assert(error.getMessage.contains("joinless/sources, is not there"), error.getMessage)
      }
      Files.write(record(files), kept)
      run(files, threeHops)
      check(files, threeHops)
    }
  }

  test("a record that cannot be read is refused; one of a query that never began a batch is forgotten") {
    withFiles { files =>
      Files.createDirectories(record(files).getParent)
      Files.writeString(record(files), "v1 0 1\n")
      run(files, threeHops)
      check(files, threeHops)
      Files.deleteIfExists(record(files).resolveSibling(".sources.crc"))
      Files.writeString(record(files), "v7 something\n")
      val error = intercept[JoinlessAnalysisException](run(files, threeHops))
      assert(error.getCondition == "JOINLESS_STATE_MISMATCH.UNREADABLE", error.getMessage)
    }
  }

  test("different columns, filters, watermarks and named subqueries of one stream") {
    val queries = Seq(
      "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN (SELECT dst AS k FROM e WHERE src < 9) c ON b.dst = c.k",
      "WITH f AS (SELECT src + 1 AS s, dst AS d FROM e) SELECT a.s, c.d FROM f a JOIN f b ON a.d = b.s JOIN e x ON b.d = x.src " +
        "JOIN f c ON x.dst = c.s",
      "SELECT a.src, c.src AS other, d.src AS third FROM e a JOIN e c ON a.src = c.src JOIN e d ON a.src = d.src WHERE a.dst = 3",
      "SELECT a.src, x.dst FROM e a JOIN (SELECT b.src, c.dst FROM e b JOIN e c ON b.dst = c.src) x ON a.dst = x.src"
    )
    for (sql <- queries) withFiles { files =>
      assert(sources(run(files, sql)) == 1, sql)
      check(files, sql)
    }
  }

  test("two joins of one stream in one query, and streams of two folders") {
    withFiles { files =>
      val both = s"SELECT * FROM ($threeHops) UNION ALL SELECT * FROM (${threeHops.replace("> 5", "< 3")})"
      val query = run(files, both)
      assert(sources(query) == 1)
      check(files, both)
    }
    withFiles { files =>
      val others = new EdgeFiles(spark, "f")
      (11 to 14).foreach(others.addRandom(_))
      others.streaming("SELECT 1 AS one")
      val sql = threeHops.replace("e b", "f b")
      assert(sources(run(files, sql)) == 2)
      assert(Files.readString(record(files)) == "v1 0 1 0\n")
      others.expected("SELECT 1 AS one")
      check(files, sql)
    }
  }

  test("a memory stream that is joined with itself is one source") {
    val session = spark
    import session.implicits._
    val stream = MemoryStream[(Long, Long)](session)
    val edges = stream.toDF().toDF("src", "dst")
    edges.createOrReplaceTempView("m")
    val df = spark.sql(threeHops.replace("e a", "m a").replace("e b", "m b").replace("e c", "m c"))
    val seen = scala.collection.mutable.ArrayBuffer.empty[(Long, Long, Long)]
    val write: (DataFrame, Long) => Unit = (batch, _) => {
      val _ = seen ++= batch.as[(Long, Long, Long)].collect()
    }
    val query = df.writeStream.foreachBatch(write).trigger(Trigger.ProcessingTime(0)).start()
    try {
      val random = new scala.util.Random(4)
      val all = (1 to 4).flatMap { _ =>
        val rows = Seq.fill(40)((random.nextInt(20).toLong, random.nextInt(20).toLong))
        stream.addData(rows)
        query.processAllAvailable()
        rows
      }
      assert((sources(query), scans(query)) == (1, 1))
      assert(query.recentProgress.map(_.numInputRows).sum == 4 * 40)
      val naive = for (a <- all; b <- all if a._2 == b._1; c <- all if b._2 == c._1 && c._2 > 5)
        yield (a._1, b._2, c._2)
      assert(naive.nonEmpty && seen.sorted == naive.sorted)
    } finally query.stop()
  }

  test("scans get attributes of their own, and a plan without shared ones comes back eq") {
    val files = new EdgeFiles(spark, "e")
    files.addRandom(1)
    val plan = Plans.analyzed(files.streaming(threeHops))
    assert(SeparateScans(plan) eq plan)
    val shared = SharedSources.shared(plan, SharedSources.together(plan, _ => true))
    def ids(p: LogicalPlan) = SharedSources.places(p).flatMap(_.output.map(_.exprId))
    assert(ids(shared).distinct.size == 2 && ids(shared).size == 6)
    val separate = SeparateScans(shared)
    assert(ids(separate).distinct.size == 6)
    assert(separate.output.map(_.exprId) == plan.output.map(_.exprId))
    assert(!separate.exists(SharedMark.isOn) && shared.schema == plan.schema)
    assert(separate.resolved)
  }
}
