package io.joinless.spark.explain

import org.scalatest.funsuite.AnyFunSuite

/** Texts of compiled queries, as a user would write them. */
class ReadableSqlSpec extends AnyFunSuite {
  private val names = Map("r1" -> "o", "r2" -> "l")
  private val sql = new ReadableSql(name => names.getOrElse(name, name), Set("id"))

  for (
    (text, readable) <- Seq(
      "r1.id" -> "o.id",
      "r2.price" -> "price",
      "sum((r1.x * (1BD - r2.y)))" -> "sum(x * (1 - y))",
      "((r1.a + r1.b) - (r2.c - 1L))" -> "a + b - (c - 1)",
      "((NOT (r1.a = r2.a)) OR ((r1.b > 2.50BD) AND (r1.c IS NOT NULL)))" -> "a <> a OR b > 2.5 AND c IS NOT NULL",
      "(((r1.a = 1) OR (r1.b = 2)) AND (r1.c = 3))" -> "(a = 1 OR b = 2) AND c = 3",
      "count(1)" -> "count(*)",
      "count(DISTINCT r1.x)" -> "count(DISTINCT x)",
      "(NOT startswith(r1.s, 'PROMO'))" -> "s NOT LIKE 'PROMO%'",
      "CAST(r1.n AS DECIMAL(20,0))" -> "n",
      "CAST(r1.s AS DATE)" -> "CAST(s AS DATE)",
      "r1.```r2.k```" -> "k",
      "max(`sum((r1.x * 2L))`)" -> "max(sum(x * 2))",
      "`x of (SELECT a, f(b) WHERE (c) UNION ALL SELECT d)`" -> "x",
      "any(`(r1.f(g(h(x))) UNION ALL CAST(NULL AS INT))`)" -> "any(f(g(h(x))))",
      "max(r1.(m + 1L))" -> "max(m + 1)",
      "(r1.a OR r1.a OR CAST(NULL AS STRING))" -> "a",
      "(0 OR 1 OR 3)" -> "grouping_id",
      "`two words`" -> "two words"
    )
  ) test(text)(assert(sql(text) == readable))
}
