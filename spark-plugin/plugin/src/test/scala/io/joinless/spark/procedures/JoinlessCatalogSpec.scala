package io.joinless.spark.procedures

import io.joinless.spark.SharedSpark
import io.joinless.spark.conf.Built
import io.joinless.spark.views.{StartView, WantedView}
import org.apache.spark.sql.AnalysisException
import org.scalatest.funsuite.AnyFunSuite

/** The catalog in a session without Delta. Views are in tests/test_status.py. */
class JoinlessCatalogSpec extends AnyFunSuite with SharedSpark {

  private def refused(statement: String): String =
    intercept[AnalysisException](spark.newSession().sql(statement)).getCondition

  test("the extension brings the procedures, without a setting") {
    val session = spark.newSession()
    val listed = session.sql("SHOW PROCEDURES IN joinless").select("procedure_name").collect().map(_.getString(0))
    assert(listed.toSeq == Seq("drop", "evolve", "explain", "materialize", "replace", "status", "verify"))
    assert(session.sql("CALL joinless.status()").collect().isEmpty)
    val described = session.sql("DESCRIBE PROCEDURE joinless.verify").collect().mkString
    assert(described.contains("Compares the table"))
    if (Built.Spark != "4.1") assert(described.contains("differences"), "its parameters")
  }

  test("what is no view, no table or no procedure is refused by name, where there is no Delta, too") {
    spark.range(1).createOrReplaceTempView("no_view")
    try {
      assert(intercept[AnalysisException](spark.sql("CALL joinless.status(view => 'no_view')")).getCondition ==
        "JOINLESS_VIEW.NOT_A_VIEW")
      assert(refused("CALL joinless.verify(view => 'nothing')") == "TABLE_OR_VIEW_NOT_FOUND")
      assert(refused("CALL joinless.statsu()") == "JOINLESS_PROCEDURE.NOT_FOUND")
      assert(refused("SHOW TABLES IN joinless") == "MISSING_CATALOG_ABILITY.TABLES")
    } finally { val _ = spark.catalog.dropTempView("no_view") }
  }

  test("a view in a session without Delta is refused, and the error says what is missing") {
    val view = WantedView.of(spark.readStream.format("rate").load(), Nil, None)
    val refused = intercept[AnalysisException](StartView(view, "without_delta", None, None))
    assert(refused.getCondition == "JOINLESS_APPLY_CHANGES.NO_DELTA")
    assert(refused.getMessage.contains("data source: delta") && refused.getMessage.contains("Give the session"))
  }

  test("a catalog of the user's with this name stays") {
    val session = spark.newSession()
    session.conf.set("spark.sql.catalog.joinless", "no.such.Catalog")
    val raised = intercept[Exception](session.sql("CALL joinless.status()"))
    assert(raised.getMessage.contains("no.such.Catalog"), raised.getMessage)
  }
}
