package io.joinless.spark.explain.steps

import io.joinless.spark.api._
import io.joinless.spark.changes.Changes
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import org.scalatest.funsuite.AnyFunSuite

/** The steps of a query are those of its text, by its own names, and a cost that grows is said of
  * the tables whose changes have it.
  */
class StepsSpec extends AnyFunSuite with StreamingPlans {

  for (name <- Seq("t", "u")) {
    stream(s"raw_$name", "k BIGINT, g BIGINT, x BIGINT, s STRING, ts TIMESTAMP, _change_type STRING")
    spark.table(s"raw_$name").changelog().createOrReplaceTempView(name)
  }
  stream("a", "k BIGINT, y BIGINT, s STRING, ts TIMESTAMP")

  private def steps(sql: String): Step = {
    val analyzed = spark.sql(sql).queryExecution.analyzed
    val compiled = DeltaCompilation.inspected(spark, Changes.markedUnchecked(analyzed, DeltaForm.Weight))
    StepsOf(Inspection.optimized(spark, compiled))
  }

  /** The text, with the names of test tables in place of their folders. */
  private def text(sql: String): String = "joinless-(raw_[a-z])\\d+".r.replaceAllIn(StepsText(steps(sql)), "$1")

  private def check(sql: String)(text: String): Unit = test(sql) {
    assert(this.text(sql) == text.stripMargin.trim)
  }

  check("SELECT g, COUNT(*) AS n, SUM(x * 2) AS s FROM t WHERE s LIKE 'a%' AND k IS NOT NULL GROUP BY g HAVING n > 3")(
    """
    |Result
    ||  g, n, s
    ||  cost: no change reads all stored rows
    |+- [1] GROUP BY g: count(*) AS n, sum(x * 2) AS s
    |   |  having count(*) > 3
    |   |  stores: one row per group
    |   |  cost: one read and one write per group
    |   +- raw_t (t)
    |         where s LIKE 'a%'
    |         and k IS NOT NULL
    |         stores: rows of g, x"""
  )

  check(
    "SELECT o.x, l.x AS lx FROM t o JOIN u l ON o.k = l.k AND (o.g = l.g OR o.x + 1 < l.x * 2) AND NOT o.s LIKE '%z'"
  )("""
    |Result
    ||  x, lx
    ||  ! cost: no change reads all stored rows
    |+- [1] Join
    |   |  on o.k = l.k
    |   |  checked: o.g = l.g OR o.x + 1 < l.x * 2
    |   |  stores: join keys
    |   |  ! cost: one step per combination of rows with equal keys, also where a condition rejects it
    |   +- raw_t (o)
    |   |     where s NOT LIKE '%z'
    |   |     stores: rows of k, g, x
    |   +- raw_u (l)
    |         stores: rows of k, g, x""")

  check("SELECT k, x, x / 2 AS half FROM t WHERE x > (SELECT AVG(x) FROM u)")("""
    |Result
    ||  k, x, half
    ||  half = x / 2
    ||  !! cost: costliest in [2], by a change of raw_u (u)
    |+- [2] Join
    |   |  checked: x > avg(x)
    |   |  stores: join keys
    |   |  !! cost: a change of [1] meets every row of t
    |   +- raw_t (t)
    |   |     stores: rows of k, x
    |   +- [1] Total: avg(x)
    |      |  stores: one row
    |      |  cost: one read and one write
    |      +- raw_u (u)
    |            stores: rows of x
    |            !! cost: costliest in [2]""")

  check("SELECT g, MIN(x) AS m, COUNT(DISTINCT s) AS d FROM t GROUP BY g ORDER BY m DESC, g LIMIT 5")("""
    |Result
    ||  g, m, d
    ||  ! cost: no change reads all stored rows
    |+- [2] The first 5 rows by m DESC, g
    |   |  stores: each of its rows
    |   |  ! cost: rarely more than a row: once many of the first have been deleted, all are looked through
    |   +- [1] GROUP BY g: min(x), count(DISTINCT s)
    |      |  stores: one row per group, and the different values of x, s
    |      |  ! cost: where the least value is deleted, min(x) searches the values of the group
    |      +- raw_t (t)
    |            stores: rows of g, x, s""")

  check("SELECT t.k, u.x FROM t LEFT JOIN u ON t.k = u.g")("""
    |Result
    ||  k, x
    ||  cost: no change reads all stored rows
    |+- [2] LEFT JOIN
    |   |  on k = g
    |   |  stores: join keys
    |   |  cost: O(1), and one step per result that changes
    |   +- raw_t (t)
    |   |     stores: rows of k
    |   +- Rows, or NULLs where there is no match
    |      |  stores: rows of g, x
    |      +- raw_u
    |      +- [1] k without a match
    |         |  by k = g
    |         |  stores: one row per group
    |         |  cost: one read and one write per group
    |         +- Keys of both sides
    |            |  stores: rows of k
    |            +- raw_t
    |            +- raw_u""")

  check(
    "SELECT n FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) WHERE n = (SELECT MAX(n) FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g))"
  )("""
    |Result
    ||  n
    ||  !! cost: costliest in [3], by a change of raw_t (t)
    |+- [4] Join
    |   |  on n = max(n)
    |   |  stores: join keys
    |   |  cost: O(1), and one step per result that changes
    |   +- [1] GROUP BY g: count(*) AS n
    |   |  |  stores: one row per group
    |   |  |  cost: one read and one write per group
    |   |  +- raw_t (t)
    |   |        stores: rows of g
    |   +- [3] Total: max(count(*))
    |      |  stores: one row, and the different values of count(*)
    |      |  !! cost: where the greatest value is deleted, max(count(*)) searches all values
    |      +- [2] GROUP BY g: count(*)
    |            as [1], once more
    |            stores: one row per group
    |            !! cost: one read and one write per group; costliest in [3]""")

  private def words(step: Step): Set[String] = step.all.flatMap(s => s.title +: (s.details ++ s.stores)).flatMap(
    "[A-Za-z_][A-Za-z_0-9]*".r.findAllIn(_)
  ).filterNot(_.matches("joinless|(raw_)?[a-z]\\d+")).toSet

  /** What the steps say in English and in SQL. */
  private val ofSteps = (
    "Result Join LEFT JOIN equal results once are counted on and checked where having only rows that lets pass whose is in " +
      "rows of join keys counts by key one row per group different values each its these how many there as once more " +
      "The first Window functions over all GROUP BY DISTINCT Total UNION ALL AS the raw_t raw_u a t u " +
      "Whether has have a match with without Rows or NULLs no Keys both sides"
  ).split(" ").toSet

  /** Spark's functions and operators, which the text has in capitals or not at all. */
  private val ofSpark =
    "AND OR NOT IS NULL LIKE CASE WHEN THEN ELSE END CAST BIGINT count min max sum avg coalesce true"
      .split(" ").toSet

  for (
    sql <- Seq(
      "SELECT t.x, u.g FROM t LEFT JOIN u ON t.k = u.k AND u.s LIKE '%b'",
      "SELECT t.k FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.x <> t.x)",
      "SELECT t.k FROM t WHERE t.k NOT IN (SELECT g FROM u)",
      "SELECT t.k FROM t WHERE t.x > 3 OR EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
      "SELECT n, COUNT(*) AS c FROM (SELECT t.k, COUNT(u.x) AS n FROM t LEFT JOIN u ON t.k = u.k GROUP BY t.k) GROUP BY n",
      "SELECT t.g, u.g AS h, SUM(t.x * u.x) AS s FROM t JOIN u ON t.k = u.k GROUP BY t.g, u.g",
      "SELECT g FROM t UNION SELECT g FROM u EXCEPT SELECT k FROM u",
      "SELECT t.k, t.g, (SELECT MAX(x) FROM u WHERE u.k = t.k) AS m FROM t",
      "SELECT t1.k FROM t t1 JOIN t t2 ON t1.k = t2.g JOIN u ON t2.k = u.k FULL JOIN a ON a.k = t1.k",
      "SELECT g, x, RANK() OVER (PARTITION BY g ORDER BY x DESC) AS r FROM t",
      "SELECT * FROM (SELECT g, x, ROW_NUMBER() OVER (PARTITION BY g ORDER BY x DESC) AS r FROM t) WHERE r <= 3"
    )
  ) test(s"no name that the query does not have: $sql") {
    val found = words(steps(sql))
    val ofQuery = "[A-Za-z_][A-Za-z_0-9]*".r.findAllIn(sql).toSet
    val strange = found -- ofQuery -- ofQuery.map(_.toLowerCase) -- ofSteps -- ofSpark
    assert(strange.isEmpty, s"in\n${text(sql)}")
  }

  test("a query that stays with Spark has its operators as steps, and a plain join has ours") {
    val plain = StepsOf(optimized("SELECT a.y FROM a JOIN a b ON a.k = b.k JOIN a c ON b.y = c.k"))
    assert(plain.all.map(_.title.takeWhile(_ != ' ')).head == "Result")
    assert(plain.all.exists(_.title == "Join"))
    val kept = StepsOf(optimized("SELECT a.y FROM a JOIN a b ON a.k = b.k"))
    assert(kept.all.exists(_.title == "Join (Spark's own)"))
  }
}
