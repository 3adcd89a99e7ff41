package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.streaming.StreamingQueryException
import org.scalatest.funsuite.AnyFunSuite

/** Literals in queries whose changes are requested: their rows are inserted in the first batch,
  * stay over restarts, and are never inserted again.
  */
class LiteralQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val queries = Seq(
    "SELECT k, x FROM t UNION ALL VALUES (1, 2L), (1, 2L), (NULL, 3L)",
    "SELECT 7 AS k, 'a' AS s UNION ALL SELECT k, CAST(x AS STRING) FROM t UNION ALL SELECT k, 'b' FROM a",
    "SELECT y FROM a UNION ALL VALUES (100)",
    "SELECT k, COUNT(*) AS n, MAX(x) AS m FROM (SELECT k, x FROM t UNION ALL VALUES (1, 2L), (9, 3L)) GROUP BY k",
    "SELECT DISTINCT k FROM (SELECT k FROM t UNION ALL VALUES (1), (2) UNION ALL SELECT k FROM u)",
    "SELECT b.k, b.x, a.y FROM (SELECT k, x FROM t UNION ALL VALUES (1, 2L), (2, 3L)) b JOIN a ON a.k = b.k",
    "SELECT b.k, u.g FROM (SELECT k FROM t UNION ALL VALUES (1), (3)) b LEFT JOIN u ON u.k = b.k",
    "SELECT k, x FROM (SELECT k, x FROM t UNION ALL VALUES (0, 20L)) ORDER BY x DESC, k LIMIT 2",
    "SELECT t.k, v.name FROM t JOIN (VALUES (0, 'no'), (1, 'one')) v(k, name) ON t.k = v.k",
    "SELECT t.k, v.name FROM t LEFT JOIN (VALUES (0, 'no'), (1, 'one')) v(k, name) ON t.k = v.k",
    "SELECT v.k, COUNT(t.k) AS n FROM (VALUES (0), (1), (8)) v(k) LEFT JOIN t ON t.k = v.k GROUP BY v.k",
    "SELECT t.k, t.x FROM t LEFT SEMI JOIN (VALUES (0, 1), (1, 2)) v(k, g) ON t.k = v.k AND t.g = v.g",
    "SELECT a.y, t.x FROM a JOIN (VALUES (0, 1), (2, 2)) v(y, k) ON a.y = v.y JOIN t ON t.k = v.k",
    "SELECT k FROM (VALUES (0), (2), (8)) v(k) EXCEPT SELECT k FROM t"
  )

  for ((sql, i) <- queries.zipWithIndex)
    test(sql)(checkCrossed(sql, i))

  test("other literals are another query") {
    def of(rows: String) = s"SELECT k FROM t UNION ALL VALUES $rows"
    val tables = new Tables
    tables.start(of("(1), (2)"))
    tables.insert(1, 1, 1L, 1.0)
    try tables.advance()
    finally tables.stop()
    tables.insert(2, 1, 1L, 1.0)
    val refused = intercept[Exception] {
      tables.start(of("(1), (3)"))
      try tables.advance()
      finally tables.stop()
    }
    val condition = refused match {
      case failed: StreamingQueryException => failed.getCause.asInstanceOf[SparkThrowable].getCondition
      case other: SparkThrowable => other.getCondition
      case other => fail(other)
    }
    assert(condition.startsWith("JOINLESS_STATE_MISMATCH"))
  }
}
