package io.joinless.spark.explain

import io.joinless.spark.api._
import io.joinless.spark.rules.StreamingPlans
import org.json4s.JsonAST.{JNull, JString}
import org.json4s.jackson.JsonMethods.parse
import org.scalatest.funsuite.AnyFunSuite

/** The costs that explain guarantees for queries of several operators: no more than the most
  * expensive of them guarantees.
  */
class WholeCostSpec extends AnyFunSuite with StreamingPlans {

  for (name <- Seq("t", "u")) {
    stream(s"raw_$name", "k BIGINT, g BIGINT, x BIGINT, ts TIMESTAMP, _change_type STRING")
    spark.table(s"raw_$name").changelog().createOrReplaceTempView(name)
  }
  stream("a", "k BIGINT, y BIGINT, ts TIMESTAMP")

  private def whole(sql: String): Option[String] =
    PythonApi.explainText(spark.sql(sql).incrementalEnumerate()).linesIterator.find(_.startsWith(WholeCost.Heading))
      .map(_.stripPrefix(WholeCost.Heading))

  private val constant = "O(1) per change, whatever the changes"

  test("a block alone says its cost itself") {
    assert(whole("SELECT t.x, u.x AS y FROM t JOIN u ON t.k = u.k").isEmpty)
    assert(whole("SELECT k, x + 1 AS y FROM t WHERE g > 1").isEmpty)
  }

  test("counts and sums of rows") {
    assert(whole("SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g").contains(constant))
    assert(
      whole("SELECT n, COUNT(*) AS m FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) GROUP BY n").contains(constant)
    )
    assert(whole("SELECT y, MAX(k) AS m FROM a GROUP BY y").contains(constant)) // rows are append-only
  }

  test("a greatest value meets every row of a cross product, and leaves a group") {
    val newest = "SELECT t.x FROM t WHERE t.ts = (SELECT MAX(ts) FROM t)"
    val cost = whole(newest).get
    assert(cost.startsWith("not O(1) per change: "), cost)
    assert(cost.contains("where the greatest value of a group is deleted, max("), cost)
    val crossed =
      whole("SELECT a.y FROM a CROSS JOIN (SELECT MAX(ts) AS m FROM a) WHERE a.ts >= m - INTERVAL 1 HOUR").get
    assert(crossed.contains("a change of a meets every row of total, and one of total every row of a"), crossed)
    assert(!crossed.contains("greatest"), crossed)
    val text = PythonApi.explainText(
      spark.sql("SELECT a.y FROM a CROSS JOIN (SELECT MAX(ts) AS m FROM a) WHERE a.ts >= m - INTERVAL 1 HOUR")
        .incrementalEnumerate()
    )
    assert(
      text.contains(s"cost: $constant for the views; for the results, a change of a meets every row of total"),
      text
    )
  }

  test("windows, first rows and functions that are computed anew read what is stored") {
    assert(
      whole("SELECT k, RANK() OVER (PARTITION BY g ORDER BY x) AS r FROM t").get.contains("anew over each partition")
    )
    assert(
      whole("SELECT k, x FROM t ORDER BY x DESC LIMIT 10").get.contains("once many of its first rows have been deleted")
    )
    assert(whole("SELECT g, COLLECT_LIST(k) AS ks FROM t GROUP BY g").get.contains("is computed anew over the values"))
    assert(whole("SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY y DESC) AS n FROM a) WHERE n = 1")
      .contains(constant))
  }

  test("joins below groups cost what the dearest does") {
    val joined = whole("SELECT g, MIN(x) AS m FROM (SELECT t.g, u.x FROM t JOIN u ON t.k = u.k) GROUP BY g").get
    assert(joined.contains("where the least value of a group is deleted"), joined)
    assert(joined.contains("all else: "), joined)
    val outer = whole("SELECT t.x, u.x AS y FROM t LEFT JOIN u ON t.k = u.k AND u.x > t.x").get
    assert(outer.startsWith("O(1)") && outer.endsWith("and O(1) per result of a join that changes"), outer)
  }

  test("the JSON has it, too") {
    def json(sql: String) = parse(PythonApi.explainJson(spark.sql(sql).incrementalEnumerate())) \ "wholeCost"
    assert(json("SELECT g, COUNT(*) AS n FROM t GROUP BY g") == JString(constant))
    assert(json("SELECT t.x FROM t JOIN u ON t.k = u.k") == JNull)
  }
}
