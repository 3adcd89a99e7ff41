package io.joinless.spark.changes

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.SharedSpark
import org.scalatest.funsuite.AnyFunSuite

/** LATERAL in the plans of subqueries, and in LATERAL: its columns have other ids there than where
  * it stands alone.
  */
class LateralQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val nested = Seq(
    "SELECT u.k FROM u WHERE u.g IN (SELECT q.y FROM t, LATERAL (SELECT a.y FROM a WHERE a.k = t.k) q)",
    "SELECT t.k, z.y FROM t, LATERAL (SELECT q.y FROM u, LATERAL (SELECT a.y FROM a WHERE a.k = u.k) q WHERE u.k = t.k) z",
    "SELECT t.k FROM t WHERE EXISTS (SELECT 1 FROM (SELECT u.k, v.y FROM u LEFT JOIN LATERAL (SELECT a.y FROM a WHERE a.k = u.k AND a.y <= u.g ORDER BY a.y DESC LIMIT 1) v) z WHERE z.k = t.k AND z.y < t.g)",
    "SELECT t.k FROM t WHERE NOT EXISTS (SELECT 1 FROM u, LATERAL (SELECT a.y FROM a WHERE a.k = u.k AND a.y <= u.g ORDER BY a.y DESC LIMIT 1) v WHERE u.k = t.k)",
    "SELECT t.k, (SELECT COUNT(*) FROM u, LATERAL (SELECT MAX(a.y) AS m FROM a WHERE a.k = u.k) v WHERE u.k = t.k AND v.m > 0) AS n FROM t",
    "SELECT k FROM t WHERE x > (SELECT MAX(v.y) FROM u, LATERAL (SELECT a.y FROM a WHERE a.k = u.k) v)"
  )

  for ((sql, i) <- nested.zipWithIndex) test(s"changes of LATERAL in subqueries: $sql") {
    check(sql, Seeds.of(sql), if (i % 2 == 0) "change_type" else "weight")
  }
}
