package io.joinless.spark.changes

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.SharedSpark
import io.joinless.spark.conf.Built
import org.apache.spark.sql.catalyst.plans.logical.LocalLimit
import org.scalatest.funsuite.AnyFunSuite

/** Queries with LIMIT and with window functions: after every batch their changes add up to the
  * result of batch SQL.
  */
class OrderedQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val limits = Seq(
    "SELECT * FROM t ORDER BY x DESC, d, k, g LIMIT 3",
    "SELECT k, x FROM t ORDER BY x, k LIMIT 2 + 3 OFFSET 2",
    "SELECT k FROM t ORDER BY k DESC NULLS FIRST, x, d, g OFFSET 4",
    "SELECT y FROM a ORDER BY y LIMIT 2",
    "SELECT t.k, a.y FROM t JOIN a ON t.k = a.k ORDER BY t.k DESC, a.y LIMIT 4",
    "SELECT g, SUM(x) AS s FROM t GROUP BY g ORDER BY s DESC, g LIMIT 2",
    "SELECT s.k, a.y FROM (SELECT k, g FROM t ORDER BY k, g LIMIT 6) s JOIN a ON s.k = a.k",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM (SELECT x FROM t ORDER BY x DESC LIMIT 4)",
    "SELECT k FROM t WHERE x > (SELECT x FROM t ORDER BY x DESC, k LIMIT 1 OFFSET 3)",
    "(SELECT k FROM t ORDER BY k LIMIT 2) UNION ALL (SELECT y FROM a ORDER BY y DESC LIMIT 2)",
    "SELECT k, (SELECT u.g FROM u WHERE u.k = t.k ORDER BY u.g DESC LIMIT 1) AS g FROM t",
    "SELECT k, g FROM (SELECT k, g FROM t ORDER BY k, g LIMIT 9) ORDER BY g, k LIMIT 4",
    "SELECT k + 1 AS l FROM t ORDER BY x DESC, d, g, k LIMIT 3 OFFSET 1",
    "SELECT a.y FROM t JOIN a ON t.k = a.k ORDER BY t.x, t.d, t.g, t.k, a.y LIMIT 3",
    "SELECT g FROM (SELECT g, x, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x, d, g) AS n FROM t) WHERE n = 1 ORDER BY x, g LIMIT 1",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY MAX(x), g OFFSET 1",
    "SELECT k, g FROM t LIMIT 0",
    "SELECT COUNT(*) AS n FROM (SELECT 1 FROM t LIMIT 3)",
    "SELECT k, (SELECT MAX(g) FROM u) AS m FROM (SELECT k, g FROM t ORDER BY k DESC, g LIMIT 2) y",
    "SELECT k, g IN (SELECT k FROM u WHERE k IS NOT NULL) AS has FROM (SELECT k, g FROM t ORDER BY k DESC, g LIMIT 2) y",
    "SELECT COUNT(*) AS n FROM (SELECT k, x FROM t ORDER BY x, k LIMIT 5) y JOIN (SELECT y FROM a ORDER BY y) b ON y.k = b.y",
    "SELECT t.k, a.y FROM t JOIN a ON t.k = a.k WHERE 1 > 2",
    "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM u LIMIT 0) UNION ALL SELECT y FROM a",
    "SELECT t.k, v.m FROM t, LATERAL (SELECT MAX(u.g) AS m FROM u WHERE u.k = t.k) v",
    "SELECT t.k, v.g FROM t, LATERAL (SELECT u.g FROM u WHERE u.k = t.k ORDER BY u.g DESC LIMIT 2) v"
  )

  private val newest =
    "(SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY d DESC, k, x) AS n FROM t) WHERE n = 1)"

  /** Queries for which Spark sorts all rows and then numbers them in the order in which an exchange
    * returns them: its own rows are not always the first ones. Each is paired with a query that has
    * the intended result.
    */
  private val correlated = Seq(
    "SELECT k, x FROM t WHERE x IN (SELECT r.x FROM t r WHERE r.g = t.g ORDER BY r.d DESC, r.k, r.x LIMIT 1)" ->
      s"SELECT t.k, t.x FROM t JOIN $newest b ON b.g = t.g AND b.x = t.x",
    "SELECT k, (SELECT r.x FROM t r WHERE r.g <=> t.g ORDER BY r.d DESC, r.k, r.x LIMIT 1) AS x FROM t" ->
      s"SELECT t.k, b.x FROM t LEFT JOIN $newest b ON b.g <=> t.g",
    "SELECT t.k, v.k AS l FROM t LEFT JOIN LATERAL (SELECT s.k FROM t s WHERE s.g = t.k ORDER BY s.d DESC, s.k LIMIT 1) v ON true" ->
      s"SELECT t.k, b.k AS l FROM t LEFT JOIN $newest b ON b.g = t.k"
  )

  for (((sql, oracle), i) <- correlated.zipWithIndex) test(s"changes of correlated rows in order: $sql") {
    for (run <- 0 until 3)
      check(sql, Seeds.of(s"$run: $sql"), if (i % 2 == 0) "change_type" else "weight", Some(oracle))
  }

  test("OFFSET without LIMIT, with and without generated code") {
    for (mode <- Seq("NO_CODEGEN", "CODEGEN_ONLY"))
      withConf("spark.sql.codegen.factoryMode" -> mode) {
        check("SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY g OFFSET 1", 62008972512208L, "weight")
      }
  }

  private val windows = Seq(
    "SELECT k, g, x, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x, d, g) AS n FROM t",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, d, g) AS n FROM t) WHERE n = 1",
    "SELECT k, x FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC, d, g) AS n FROM t) WHERE n <= 2 AND g > 0",
    "SELECT k, y FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY y) AS n FROM a) WHERE n < 2",
    "SELECT k, RANK() OVER (PARTITION BY g ORDER BY x) AS r, DENSE_RANK() OVER (PARTITION BY g ORDER BY x) AS q FROM t",
    "SELECT k, x, SUM(x) OVER (PARTITION BY k) AS s, COUNT(*) OVER () AS n FROM t",
    "SELECT k, g, SUM(g) OVER (PARTITION BY k ORDER BY x, d, g ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
    "SELECT k, LAG(x) OVER (PARTITION BY g ORDER BY x, d, k) AS before, LEAD(k, 1, -1) OVER (PARTITION BY g ORDER BY x, d, k) AS b FROM t",
    "SELECT k, FIRST_VALUE(x) OVER (PARTITION BY g ORDER BY x, d, k) AS f, NTILE(2) OVER (PARTITION BY g ORDER BY x, d, k) AS h FROM t",
    "SELECT t.k, a.y, x - AVG(x) OVER (PARTITION BY a.y) AS off FROM t JOIN a ON t.k = a.k",
    "SELECT g, n, RANK() OVER (ORDER BY n DESC) AS r FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)",
    "SELECT q.k, u.g FROM (SELECT k, RANK() OVER (PARTITION BY g ORDER BY x) AS r FROM t) q JOIN u ON q.k = u.k WHERE q.r = 1",
    "SELECT COUNT(*) OVER () AS n FROM t",
    "SELECT m, COUNT(*) AS n FROM (SELECT MAX(x) OVER (PARTITION BY k) AS m FROM t) GROUP BY m",
    "SELECT k, x FROM t QUALIFY x = MAX(x) OVER (PARTITION BY k)",
    "SELECT y, SUM(k) OVER (PARTITION BY y ORDER BY k RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM a"
  )

  for ((sql, i) <- (limits ++ windows).zipWithIndex if Built.Spark != "4.1" || !sql.contains("QUALIFY"))
    test(s"changes of rows in order: $sql") {
      withConf("spark.joinless.crossProducts.enabled" -> "true")(checkInTurn(sql, i))
    }

  test("the complete result of rows in order is that of the changes") {
    val hidden = limits.filter(sql => sql.contains("k + 1 AS l") || sql.contains("SELECT a.y FROM t JOIN"))
    val all = hidden ++ Seq(
      limits(0),
      limits(1),
      limits(5),
      limits(6),
      limits(7),
      windows(0),
      windows(1),
      windows(5),
      windows(9),
      windows(12)
    )
    all.zipWithIndex.foreach { case (sql, seed) => checkFull(sql, seed.toLong) }
  }

  test("the complete result of a union whose parts are alike is that of the changes") {
    val parts = Seq("t", "t r").map(t => s"(SELECT k, g FROM $t ORDER BY g DESC, k, x LIMIT 2)")
    checkFull(parts.mkString(" UNION ALL "), 5)
    checkFull("SELECT k FROM t WHERE x > 0 INTERSECT ALL SELECT k FROM t r WHERE x < 9", 6)
    checkFull("SELECT k, 'a' AS s FROM t GROUP BY k UNION ALL SELECT g, 'b' FROM t GROUP BY g", 7)
  }

  test("the complete result of a LIMIT that does not decide is that of the changes; of a query without it, some rows") {
    for (sql <- Seq("SELECT k, g FROM t LIMIT 3", "SELECT k FROM t ORDER BY g LIMIT 2 OFFSET 1")) {
      val tables = new Tables
      tables.start(sql)
      for (i <- 0 until 9) tables.insert(i, i % 3, 1L, 0.5)
      tables.advance()
      for (_ <- 0 until 3) tables.delete(0)
      tables.advance()
      tables.stop()
      assert(tables.full(sql) == tables.result, sql)
    }
    val tables = new Tables
    tables.start("SELECT g, k FROM t")
    for (i <- 0 until 9) tables.insert(i, i, 1L, 0.5)
    tables.advance()
    tables.stop()
    assert(tables.full("SELECT g, k FROM t LIMIT 4").values.sum == 4)
    val four = tables.fullRows("SELECT g, k FROM t LIMIT 4").queryExecution.analyzed
    assert(four.exists(_.isInstanceOf[LocalLimit]), "not all rows are enumerated for four of them")
    assert(tables.full("SELECT g FROM t ORDER BY k LIMIT 2 OFFSET 1") == Map(Seq(1) -> 1L, Seq(2) -> 1L))
  }
}
