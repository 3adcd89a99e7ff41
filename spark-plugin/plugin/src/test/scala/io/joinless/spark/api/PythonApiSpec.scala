package io.joinless.spark.api

import io.joinless.spark.SharedSpark
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.start.SparkCheck
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.DataFrame
import org.json4s.JsonAST.{JArray, JString}
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

class PythonApiSpec extends AnyFunSuite with SharedSpark {

  private def query(sql: String): DataFrame = {
    val rate = spark.readStream.format("rate").load().selectExpr("value AS src", "value + 1 AS dst")
    rate.createOrReplaceTempView("e")
    spark.sql(sql)
  }

  private val threeHops = "SELECT a.src, c.dst FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  test("explain works without a running query") {
    val text = PythonApi.explainText(query(threeHops))
    assert(text.startsWith("Join-free join of a, b, c\n  root [a.dst], height 2, class free-connex\n"), text)
    assert(text.contains("cells: 2"), text)
    assert(PythonApi.explainMermaid(query(threeHops)).startsWith("graph TD"))
    assert((parse(PythonApi.explainJson(query(threeHops))) \ "blocks")(0) \ "root" == JString("[a.dst]"))
    assert(PythonApi.whyNotJson(query(threeHops)) == "[]")
  }

  test("reasons are given, also when the extension is switched off or refusals are errors") {
    val two = "SELECT a.src FROM e a JOIN e b ON a.dst = b.src"
    def codes = parse(PythonApi.whyNotJson(query(two))) match {
      case JArray(reasons) => reasons.map(_ \ "code")
      case other => fail(other.toString)
    }
    assert(codes == List(JString("TOO_FEW_RELATIONS")))
    assert(PythonApi.explainText(query(two)).startsWith("Left to Spark: [TOO_FEW_RELATIONS] "))
    withConf("spark.joinless.mode" -> "force")(assert(codes == List(JString("TOO_FEW_RELATIONS"))))
    withConf("spark.joinless.enabled" -> "false")(assert(codes == List(JString("DISABLED"))))
    withConf("spark.joinless.minRelations" -> "2")(assert(codes.isEmpty))
  }

  test("a view over changelogs is looked at as if its changes were requested, and says that they are not") {
    def rows(sql: String): DataFrame = {
      val changes = query("SELECT src, dst, 'insert' AS _change_type FROM e")
      changes.changelog().createOrReplaceTempView("e")
      spark.sql(sql)
    }
    def codes(df: DataFrame) = parse(PythonApi.whyNotJson(df)) match {
      case JArray(reasons) => reasons.map(_ \ "code")
      case other => fail(other.toString)
    }
    val notRequested = JString("CHANGES_NOT_REQUESTED")
    val pairs = "SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src"
    val text = PythonApi.explainText(rows(pairs))
    assert(text.startsWith("Join-free join of a, b\n") && text.contains("As it stands: [CHANGES_NOT_REQUESTED]"), text)
    assert(text.contains("incrementalEnumerate()"), text)
    assert(codes(rows(pairs)) == List(notRequested))
    assert(codes(rows(pairs).incrementalEnumerate()).isEmpty)
    assert(codes(rows("SELECT src, count(*) FROM e GROUP BY src")) == List(notRequested))
    assert(codes(rows("SELECT src, uuid() FROM e")) == List(JString("NONDETERMINISTIC_EXPRESSION"), notRequested))
    assert(codes(rows("SELECT * FROM e")) == List(notRequested))
    assert(codes(rows("SELECT src, 1 AS _change_type FROM e")) == List(notRequested))
    assert(
      codes(rows("WITH x AS (SELECT * FROM e) SELECT x.src FROM x JOIN x y ON x.dst = y.src")) == List(notRequested)
    )
    val beside = rows(pairs).incrementalEnumerate().union(rows("SELECT src, dst, 'insert' FROM e"))
    assert(codes(beside).contains(notRequested))
    assert((parse(PythonApi.explainJson(rows(pairs))) \ "blocks")(0) \ "relations" == JArray(List(
      JString("a"),
      JString("b")
    )))
  }

  test("a plan without a stream is refused by name, one without joins says so") {
    assert(
      intercept[JoinlessAnalysisException](PythonApi.explainText(spark.range(1))).getCondition == "JOINLESS_NOT_STREAMING"
    )
    assert(PythonApi.explainText(query("SELECT * FROM e")) == "The query joins no streams.")
  }

  test("version and extension") {
    assert(PythonApi.version() == "0.1.0")
    assert(SPARK_VERSION.startsWith(s"${PythonApi.sparkVersion()}."))
    assert(PythonApi.isInstalled(spark))
    SparkCheck.version()
    val wrong = intercept[JoinlessAnalysisException](SparkCheck.version("5.0.0"))
    assert(wrong.getCondition == "JOINLESS_SPARK_VERSION")
    assert(wrong.getMessage.contains(s"built for Spark ${PythonApi.sparkVersion()}, found 5.0.0"))
  }
}
