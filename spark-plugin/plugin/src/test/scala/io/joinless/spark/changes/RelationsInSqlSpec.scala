package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import io.joinless.spark.api.PythonApi
import org.apache.spark.sql.{AnalysisException, DataFrame, Encoders, classic}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.Plans
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** `changelog` and `latest` in SQL are what they are in Python. */
class RelationsInSqlSpec extends AnyFunSuite with SharedSpark {

  private def feed: DataFrame = {
    val encoder =
      Encoders.tuple(Encoders.STRING, Encoders.scalaLong, Encoders.scalaInt, Encoders.STRING)
    val rows = MemoryStream[(String, Long, Int, String)](encoder, spark.asInstanceOf[classic.SparkSession])
    rows.toDF().toDF("_change_type", "copies", "id", "city")
  }

  private def same(sql: String, expected: DataFrame): Assertion =
    assert(
      Plans.analyzed(spark.sql(sql)).sameResult(Plans.analyzed(expected.select("*"))),
      s"${Plans.analyzed(spark.sql(sql))}\n${Plans.analyzed(expected)}"
    )

  private def refused(sql: String): String = intercept[AnalysisException](spark.sql(sql)).getCondition

  test("a changelog by its column of change types, by another one, or by weights") {
    feed.createOrReplaceTempView("feed")
    val rows = spark.table("feed")
    same("SELECT * FROM changelog(TABLE(feed))", PythonApi.changelog(rows, null, null))
    same("SELECT * FROM changelog(TABLE(feed), _change_type)", PythonApi.changelog(rows, "_change_type", null))
    same("SELECT * FROM changelog(TABLE(feed), 'CITY')", PythonApi.changelog(rows, "city", null))
    same("SELECT * FROM changelog(TABLE(feed), copies)", PythonApi.changelog(rows, null, "copies"))
    same("SELECT c.city FROM changelog(TABLE(feed)) AS c", PythonApi.changelog(rows, null, null).select("city"))
    val some = rows.where("id > 3")
    same("SELECT * FROM changelog(TABLE(SELECT * FROM feed WHERE id > 3))", PythonApi.changelog(some, null, null))
    assert(refused("SELECT * FROM changelog(TABLE(SELECT id FROM feed))") == "JOINLESS_CHANGE_COLUMN.NOT_FOUND")
    assert(refused("SELECT * FROM changelog(TABLE(feed), nothing)") == "JOINLESS_CHANGE_COLUMN.NOT_FOUND")
    assert(refused("SELECT * FROM changelog(TABLE(feed), 5)") == "JOINLESS_TABLE_FUNCTION")
    assert(refused("SELECT * FROM changelog(TABLE(feed), id, copies)") == "JOINLESS_TABLE_FUNCTION")
    assert(refused("SELECT * FROM changelog('feed')") == "JOINLESS_TABLE_FUNCTION")
    spark.range(3).createOrReplaceTempView("still")
    assert(refused("SELECT * FROM changelog(TABLE(still))") == "JOINLESS_NOT_STREAMING")
  }

  test("the newest row of each key, which has one column or several") {
    feed.createOrReplaceTempView("feed")
    def pattern(key: String, order: String) = spark.sql(
      s"""SELECT _change_type, copies, id, city FROM (
         |  SELECT *, ROW_NUMBER() OVER (PARTITION BY $key ORDER BY $order) AS _joinless_row_number FROM feed
         |) WHERE _joinless_row_number = 1""".stripMargin
    )
    same("SELECT * FROM latest(TABLE(feed), id, copies)", pattern("id", "copies DESC NULLS LAST"))
    same("SELECT * FROM latest(TABLE(feed), 'id', 'copies')", pattern("id", "copies DESC NULLS LAST"))
    same(
      "SELECT * FROM latest(TABLE(feed), (id, city), (copies, _change_type))",
      pattern("id, city", "copies DESC NULLS LAST, _change_type DESC NULLS LAST")
    )
    assert(refused("SELECT * FROM latest(TABLE(feed), nothing, id)").startsWith("UNRESOLVED_COLUMN"))
    assert(refused("SELECT * FROM latest(TABLE(feed), id)") == "JOINLESS_TABLE_FUNCTION")
    assert(refused("SELECT * FROM latest(TABLE(feed), 5, copies)") == "JOINLESS_TABLE_FUNCTION")
  }

  test("a view of SQL alone, over a changelog and the newest rows") {
    val session = spark
    feed.createOrReplaceTempView("feed")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW kept AS SELECT * FROM changelog(TABLE(feed))")
    feed.toDF("name", "version", "id", "city").createOrReplaceTempView("upserts")
    session.sql("CREATE OR REPLACE TEMPORARY VIEW newest AS SELECT * FROM latest(TABLE(upserts), id, version)")
    val query = session.sql(
      "SELECT * FROM incremental_enumerate(TABLE(SELECT k.city, n.version FROM kept k JOIN newest n ON k.id = n.id))"
    )
    assert(query.columns.toSeq == Seq("city", "version", "_change_type"))
    assert(PythonApi.explainText(query).contains("Window functions"), PythonApi.explainText(query))
  }
}
