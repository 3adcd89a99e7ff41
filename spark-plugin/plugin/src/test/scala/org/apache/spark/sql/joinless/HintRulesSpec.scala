package org.apache.spark.sql.joinless

import io.joinless.spark.{EdgeFiles, SharedSpark}
import io.joinless.spark.api.PythonApi
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.start.StartCheck
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.Trigger
import org.scalatest.funsuite.AnyFunSuite

/** Sessions whose analyzer ignores injected hint-resolution rules, as with Hive. */
class HintRulesSpec extends AnyFunSuite with SharedSpark {

  private val perSource = "SELECT src, COUNT(*) AS n FROM e GROUP BY src"

  /** A new session whose analyzer is as one that ignored the rules, before any plan. */
  private def ignoring(): SparkSession = {
    val session = spark.newSession()
    val analyzer = classicOf(session).sessionState.analyzer
    assert(analyzer.hintResolutionRules.nonEmpty)
    HintRules.field(analyzer).set(analyzer, Nil)
    assert(analyzer.hintResolutionRules.isEmpty)
    session
  }

  /** The global view that a test reads as the first plan of its session. */
  private def view(files: EdgeFiles): String = {
    files.addRandom(1)
    val name = s"edges_${files.hashCode.abs}"
    files.streaming("SELECT * FROM e").createGlobalTempView(name)
    s"global_temp.$name"
  }

  private def changes(session: SparkSession, sql: String, files: EdgeFiles): Seq[String] = {
    val query = session.sql(sql).writeStream.format("parquet").option("checkpointLocation", files.path("cp"))
      .trigger(Trigger.AvailableNow()).start(files.path("out"))
    query.awaitTermination()
    spark.read.parquet(files.path("out")).select("src", "n").collect().map(_.toString).toSeq.sorted
  }

  for (
    (what, sql) <- Seq(
      "a hint" -> "SELECT /*+ INCREMENTAL */ src, COUNT(*) AS n FROM %s GROUP BY src",
      "a name as an argument" -> s"SELECT * FROM incremental_enumerate(TABLE(SELECT src, COUNT(*) AS n FROM %s GROUP BY src), weight)"
    )
  ) test(s"$what in the first plan of such a session, and a query that requests changes") {
    val files = new EdgeFiles(spark, "e")
    val rows = changes(ignoring(), sql.format(view(files)), files)
    assert(rows.nonEmpty && rows == files.expected(perSource))
  }

  test("all rules are added once") {
    val session = ignoring()
    val analyzer = classicOf(session).sessionState.analyzer
    for (_ <- 1 to 3) session.sql("SELECT 1").collect()
    val added = analyzer.hintResolutionRules.map(_.getClass)
    assert(added.size == 3 && added.toSet.size == 3)
    val usual = classicOf(spark.newSession())
    usual.sql("SELECT 1").collect()
    assert(usual.sessionState.analyzer.hintResolutionRules.map(_.getClass).toSet == added.toSet)
  }

  test("changes that were not compiled are refused when their query starts") {
    val files = new EdgeFiles(spark, "e")
    val marked = Plans.analyzed(PythonApi.deltas(files.streaming(perSource), "weight"))
    val write = QueryParts.write("q", files.path("cp"), null, null, marked)
    val e = intercept[JoinlessAnalysisException](new StartCheck(spark)(write))
    assert(e.getCondition == "JOINLESS_SPARK_VERSION" && e.getMessage.contains("ignores the rules"), e)
  }
}
