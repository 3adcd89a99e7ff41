package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import io.joinless.spark.errors.JoinlessAnalysisException
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.StreamingQueryException
import org.scalatest.funsuite.AnyFunSuite

/** Queries that test whether rows have a match: after every batch their changes add up to the
  * result of batch SQL.
  */
class MatchQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val queries = Seq(
    "SELECT t.k, t.x FROM t LEFT SEMI JOIN u ON t.k = u.k",
    "SELECT t.k, t.x FROM t LEFT SEMI JOIN u ON t.k = u.k AND t.g < u.g",
    "SELECT t.k, t.x FROM t LEFT SEMI JOIN u ON t.k <=> u.k AND u.g > 0 AND t.g > 0",
    "SELECT t.k, t.x FROM t LEFT ANTI JOIN u ON t.k = u.k",
    "SELECT t.k, t.x FROM t LEFT ANTI JOIN u ON t.k = u.k AND t.g <> u.g",
    "SELECT t.k, t.x FROM t LEFT ANTI JOIN u ON t.k <=> u.k AND t.d > 0",
    "SELECT t.k, t.x, u.g FROM t LEFT JOIN u ON t.k = u.k",
    "SELECT t.k, t.x, u.k AS other, u.g FROM t LEFT JOIN u ON t.k = u.k AND t.g <= u.g",
    "SELECT t.x, u.g FROM t RIGHT JOIN u ON t.k = u.k",
    "SELECT t.k, t.x, u.k AS other, u.g FROM t FULL JOIN u ON t.k = u.k",
    "SELECT t.k, t.x, u.k AS other, u.g FROM t FULL JOIN u ON t.k = u.k AND t.g < u.g",
    "SELECT t.k, u.g, a.y FROM t LEFT JOIN u ON t.k = u.k LEFT JOIN a ON t.g = a.k",
    "SELECT t.k, u.g, a.y FROM t LEFT JOIN u ON t.k = u.k LEFT JOIN a ON u.g = a.k",
    "SELECT t.k, u.g, a.y FROM t JOIN a ON t.k = a.k LEFT JOIN u ON t.g = u.g",
    "SELECT t.k, a.y FROM t JOIN a ON t.k = a.k LEFT ANTI JOIN u ON t.g = u.g AND a.y = u.k",
    "SELECT t.k, a.y FROM t JOIN a ON t.k = a.k LEFT SEMI JOIN u ON t.g = u.g AND a.y = u.k",
    "SELECT t.k, u.g, a.y FROM t LEFT JOIN (u JOIN a ON u.g = a.y) ON t.k = u.k",
    "SELECT t.g, COUNT(u.k) AS n, COUNT(*) AS m FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.g",
    "SELECT k FROM t EXCEPT SELECT k FROM u",
    "SELECT k, g FROM t INTERSECT SELECT k, g FROM u",
    "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
    "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    "SELECT t.k, s.n FROM t LEFT JOIN (SELECT k, COUNT(*) AS n FROM u GROUP BY k) s ON t.k = s.k",
    "SELECT s.k, s.n, u.g FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) s LEFT JOIN u ON s.n = u.g",
    "SELECT a.k, a.y FROM a LEFT ANTI JOIN a b ON a.k = b.y",
    "SELECT a.k, b.y FROM a LEFT JOIN a b ON a.y = b.k AND a.k < b.y",
    "SELECT t.k, t.x FROM t LEFT ANTI JOIN u",
    "SELECT t.k, t.x FROM t LEFT SEMI JOIN u ON t.g < u.g"
  )

  private val subqueries = Seq(
    "SELECT k, x FROM t WHERE k IN (SELECT k FROM u)",
    "SELECT k, x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.g > t.g)",
    "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT k, x FROM t WHERE k NOT IN (SELECT g FROM u)",
    "SELECT k, x FROM t WHERE k NOT IN (SELECT g FROM u WHERE u.k = t.g)",
    "SELECT k, x FROM t WHERE (k, g) NOT IN (SELECT k, g FROM u)",
    "SELECT k, x FROM t WHERE k IN (SELECT k FROM u) OR x > 5",
    "SELECT k, x, g IN (SELECT k FROM u WHERE k IS NOT NULL) AS has FROM t",
    "SELECT k, x FROM t WHERE x > (SELECT AVG(x) FROM t)",
    "SELECT k, x FROM t WHERE k = (SELECT MAX(k) FROM u)",
    "SELECT k, x - (SELECT MIN(g) FROM u) AS d, (SELECT COUNT(*) FROM a) AS n FROM t",
    "SELECT k, (SELECT COUNT(*) FROM u WHERE u.k = t.k) AS n FROM t",
    "SELECT k, x FROM t WHERE x > (SELECT AVG(s.x) FROM t s WHERE s.k = t.k)",
    "SELECT k, x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g > 1)",
    "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g > 1)",
    "SELECT g, SUM(x) AS s FROM t GROUP BY g HAVING SUM(x) > (SELECT 2 * AVG(x) FROM t)",
    "SELECT g, SUM(x) + (SELECT COUNT(*) FROM u) AS s FROM t GROUP BY g",
    "SELECT g, SUM(x + (SELECT COUNT(*) FROM u)) AS s FROM t WHERE k IN (SELECT k FROM a) GROUP BY g",
    "SELECT k, (SELECT g FROM (SELECT k, MAX(g) AS g FROM u GROUP BY k) v WHERE v.k = t.k) AS g FROM t",
    "WITH big AS (SELECT g, COUNT(*) AS n FROM t GROUP BY g) SELECT * FROM big WHERE n = (SELECT MAX(n) FROM big)",
    "SELECT t.k, a.y FROM t JOIN a ON t.k = a.k WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.g AND EXISTS (SELECT 1 FROM a b WHERE b.k = u.g))",
    "SELECT t.k, a.y FROM t JOIN a ON t.k = a.k WHERE t.x + a.y > (SELECT AVG(g) FROM u)",
    "SELECT a.k, a.y FROM a WHERE a.y > (SELECT MIN(b.y) FROM a b)",
    "SELECT t.k, u.g FROM t LEFT JOIN u ON u.k = t.k + (SELECT MIN(y) FROM a)",
    "SELECT q.v FROM (SELECT (SELECT MIN(y) FROM a) AS v FROM t) q WHERE EXISTS (SELECT 1 FROM u WHERE q.v = u.k)",
    "SELECT k, NOT EXISTS (SELECT 1 FROM u WHERE g > 0) OR x IS NULL AS none FROM t",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.k = t.k) THEN 'y' ELSE 'n' END AS has, COUNT(*) AS n FROM t GROUP BY 1",
    "SELECT q.*, (SELECT COUNT(*) FROM t r WHERE r.k = q.v AND r.k >= q.w) AS n FROM (SELECT k AS v, k AS w FROM t) q",
    "SELECT v FROM (SELECT k AS v, g FROM t) q WHERE EXISTS (SELECT 1 FROM t WHERE t.g = q.v AND t.k <> q.g)",
    "SELECT t.k, p.y, q.y AS z FROM t JOIN a p ON t.k = p.k JOIN a q ON p.y = q.k AND q.y = t.g"
  )

  for ((sql, i) <- subqueries.zipWithIndex) test(s"changes of subqueries: $sql") {
    checkInTurn(sql, i)
  }

  for ((sql, i) <- queries.zipWithIndex) test(s"changes of matches: $sql") {
    withConf("spark.joinless.crossProducts.enabled" -> "true")(checkInTurn(sql, i))
  }

  test("the complete result of a query for matches is that of the changes") {
    val all =
      Seq(queries(0), queries(4), queries(6), queries(9), queries(11), queries(17), subqueries(3), subqueries(8))
    all.zipWithIndex.foreach { case (sql, seed) => checkFull(sql, seed.toLong) }
  }

  test("a condition that can fail is evaluated on the pairs that equi-join conditions leave, as in Spark") {
    for (
      sql <- Seq(
        "SELECT t.k, u.g FROM t LEFT JOIN u ON t.k = u.k AND 6 DIV t.g > 1",
        "SELECT t.k FROM t LEFT ANTI JOIN u ON t.k = u.k AND 6 DIV t.g > u.g"
      )
    ) {
      val tables = new Tables
      tables.start(sql)
      tables.insert(1, 2, 5L, 0.5)
      tables.insert(9, 0, 6L, 0.5)
      tables.append(1, 1)
      tables.append(9, 0)
      tables.insertPair(1, 1)
      tables.advance()
      assert(tables.result == tables.expected(sql), sql)
      tables.stop()
    }
  }

  test("a scalar subquery of two rows fails its batch as in Spark, and nothing is lost") {
    val sql = "SELECT k, (SELECT g FROM u) AS one FROM t"
    val tables = new Tables
    tables.start(sql)
    tables.insert(1, 1, 5L, 0.5)
    tables.insertPair(7, 3)
    tables.advance()
    assert(tables.result == Map(Seq(1, 3) -> 1L))
    tables.insertPair(8, 4)
    val error = intercept[StreamingQueryException](tables.advance())
    val texts = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString("\n")
    assert(texts.contains("SCALAR_SUBQUERY_TOO_MANY_ROWS"), texts)
    assert(tables.result == Map(Seq(1, 3) -> 1L))
  }

  for (
    subquery <- Seq(
      "SELECT u.k FROM u WHERE u.k = t.k", // the value is the key
      "SELECT u.g FROM u WHERE u.k = t.k",
      "SELECT u.g FROM u WHERE u.k % 10 = t.k" // two keys, one compared value
    )
  )
    test(s"a correlated scalar subquery of two rows fails its batch as in Spark: $subquery") {
      val sql = s"SELECT k, ($subquery) AS one FROM t"
      val tables = new Tables
      tables.start(sql)
      for (k <- 1 to 3) tables.insert(k, 1, 5L, 0.5)
      tables.insertPair(1, 7)
      tables.insertPair(2, 8)
      tables.advance()
      assert(tables.result == tables.expected(sql), sql)
      tables.insertPair(if (subquery.contains("%")) 11 else 1, 9)
      val error = intercept[StreamingQueryException](tables.advance())
      val texts = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString("\n")
      assert(texts.contains("SCALAR_SUBQUERY_TOO_MANY_ROWS"), texts)
    }

  test("a correlated scalar subquery whose condition is no equi-join condition alone is refused by name") {
    for (condition <- Seq("u.k < t.k", "u.k = t.k AND u.g < t.g")) {
      val tables = new Tables
      val refused = intercept[Exception](tables.start(s"SELECT k, (SELECT u.g FROM u WHERE $condition) AS one FROM t"))
      assert(refused.getMessage.contains("equi-join conditions alone do not say which"), refused.getMessage)
    }
  }

  test("a stream in a subquery: whose changes are not requested is refused, and what is switched off is Spark's") {
    val tables = new Tables
    tables.streams()
    val query = spark.sql("SELECT k FROM a WHERE y IN (SELECT b.y FROM a b)")
    val refused = intercept[JoinlessAnalysisException](query.writeStream.format("noop").start())
    assert(refused.getCondition == "JOINLESS_STREAM_IN_SUBQUERY", refused.getMessage)
    assert(Plans.analyzed(query).isStreaming)
    assert(intercept[JoinlessAnalysisException](query.show()).getCondition == "JOINLESS_STREAM_IN_SUBQUERY")
    withConf("spark.joinless.enabled" -> "false") {
      val spark = intercept[AnalysisException](this.spark.sql("SELECT k FROM a WHERE y IN (SELECT b.y FROM a b)"))
      assert(spark.getCondition == "INVALID_SUBQUERY_EXPRESSION.STREAMING_QUERY", spark.getMessage)
    }
  }
}
