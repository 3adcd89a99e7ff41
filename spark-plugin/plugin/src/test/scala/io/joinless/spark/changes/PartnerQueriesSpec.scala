package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import org.scalatest.funsuite.AnyFunSuite

/** Queries that ask whether rows have partners: after every batch their changes add up to what batch SQL has. */
class PartnerQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

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
    "SELECT t.k, u.g, a.y FROM t JOIN a ON t.k = a.k LEFT ANTI JOIN u ON t.g = u.g AND a.y = u.k".replace("u.g, a.y", "a.y"),
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

  for ((sql, i) <- queries.zipWithIndex) test(s"changes of partners: $sql") {
    withConf("spark.joinless.crossProducts.enabled" -> "true")(check(sql, System.nanoTime(), if (i % 2 == 0) "change_type" else "weight"))
  }
}
