package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.explain.JoinTreeText
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.spec.{BlockShape, BlockSpec, ReductionSpec}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** SUM, AVG and COUNT over joins: arguments are added up inside of the join, as products of one
  * factor per relation.
  */
class SummedJoinsSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {
  import SummedJoinsSpec._

  /** Each with its sums: per argument the number of its factors, and how many arguments may fail.
    */
  private val queries = Seq(
    s"SELECT t.g, COUNT(*) AS n, SUM(t.x) AS s $Path GROUP BY t.g" -> Emitted(1),
    s"SELECT u.g, SUM(t.x) AS s, AVG(t.x) AS m, COUNT(t.x) AS c $Path GROUP BY u.g" -> Emitted(1, 1),
    s"SELECT SUM(a.y) AS s, SUM(u.g) AS v, COUNT(t.g) AS c $Path" -> Emitted(1, 1, 1),
    s"SELECT t.g, SUM(CAST(u.g AS BIGINT) * a.y) AS s $Path GROUP BY t.g" -> Emitted(2),
    s"SELECT u.g, SUM(CAST(t.x AS DECIMAL(22, 2))) AS s, AVG(CAST(a.y AS DECIMAL(10, 0))) AS m $Path GROUP BY u.g" -> Emitted(
      1,
      1
    ),
    s"SELECT SUM(CAST(t.x AS DECIMAL(21, 1)) * CAST(a.y AS DECIMAL(12, 2))) AS s $Path" -> Emitted(2),
    s"SELECT SUM(${Seq("t.g", "u.g", "a.y").map(c => s"CAST($c AS DECIMAL(10, 0))").mkString(" * ")}) AS s $Path" -> Emitted(
      3
    ),
    s"SELECT t.g, SUM(t.x * 2) AS s $Path GROUP BY t.g" -> Emitted(Seq(1), 1),
    s"SELECT u.g, SUM(t.x) FILTER (WHERE a.y > 0 AND t.g < 2) AS s, COUNT(*) FILTER (WHERE a.y > 0 AND t.x > 1) AS n $Path GROUP BY u.g" -> Emitted(
      3,
      2
    ),
    s"SELECT u.g, SUM(CASE WHEN a.y = 1 THEN t.x END) AS s, SUM(CASE WHEN a.y = 1 THEN 3 END) AS v $Path GROUP BY u.g" -> Emitted(
      2,
      1
    ),
    s"SELECT t.g, SUM(t.x) AS s, MAX(u.g) AS m, COUNT(DISTINCT a.y) AS d $Path GROUP BY t.g" -> Emitted(1),
    s"SELECT u.g, SUM(t.d) AS f, SUM(t.x) AS s $Path GROUP BY u.g" -> Emitted(1),
    s"SELECT t.g, SUM(t.g) AS s, COUNT(*) AS n $Path GROUP BY t.g" -> Emitted(),
    s"SELECT t.g, SUM(t.x) AS s, MIN(t.x) AS m $Path GROUP BY t.g" -> Emitted(),
    s"SELECT t.g, SUM(t.x) AS s $Path GROUP BY t.g HAVING SUM(t.x) > 10 AND COUNT(u.g) > 1" -> Emitted(1, 1),
    s"SELECT s, COUNT(*) AS n FROM (SELECT t.g, SUM(a.y) AS s $Path GROUP BY t.g) GROUP BY s" -> Emitted(1),
    s"SELECT t.g, SUM(t.x) AS s $Path WHERE t.g < a.y GROUP BY t.g" -> Emitted(1),
    "SELECT p.k, SUM(CAST(p.y AS BIGINT) * r.y) AS s FROM a p JOIN a q ON p.y = q.k JOIN a r ON q.y = r.k GROUP BY p.k" -> Emitted(
      2
    ),
    "SELECT p.k, SUM(q.y) AS s FROM a p JOIN a q ON p.k = q.k JOIN a r ON q.k = r.k GROUP BY p.k" -> Emitted(1),
    "SELECT t.g, SUM(t.x) AS s, SUM(a.y) AS v FROM t, u, a GROUP BY t.g" -> Emitted(1, 1),
    "SELECT t.g, SUM(t.x) AS s FROM t JOIN u ON t.k <=> u.k AND t.g <=> u.g JOIN a ON u.g = a.k GROUP BY t.g" -> Emitted(
      1
    ),
    "SELECT t.g, SUM(t.x) AS s FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k AND a.y = t.g GROUP BY t.g" -> Emitted(1),
    "SELECT t.g, SUM(t.x) AS s FROM t JOIN a ON t.k = a.k WHERE t.k IN (SELECT k FROM u) GROUP BY t.g" -> Emitted(1),
    "SELECT t.g, SUM(u.g) AS s, COUNT(u.g) AS n FROM t LEFT JOIN u ON t.k = u.k JOIN a ON a.k = t.g GROUP BY t.g" -> Emitted(
      1,
      1
    ),
    s"SELECT u.g, SUM(CAST(t.x AS DECIMAL(20, 0)) - CAST(a.y AS DECIMAL(10, 0))) AS s $Path GROUP BY u.g" -> Emitted(
      2,
      2
    ),
    s"SELECT t.g, SUM(CAST(u.g AS BIGINT) + a.y) AS s, SUM(CAST(u.g AS BIGINT) * a.y - t.k) AS v $Path GROUP BY t.g" -> Emitted(
      2,
      2,
      3,
      3
    ),
    s"SELECT u.g, SUM(CASE WHEN a.y > 0 THEN t.x ELSE 0 END) AS s, AVG(CASE WHEN t.g = 1 THEN a.y ELSE 0 END) AS m $Path GROUP BY u.g" -> Emitted(
      2,
      1,
      2,
      1
    ),
    s"SELECT SUM(CASE WHEN t.g > 0 AND a.y > 0 THEN 5 ELSE 0 END) AS s $Path" -> Emitted(2, 2),
    s"SELECT t.g % 2 AS p, SUM(t.x) AS s, COUNT(*) AS n $Path GROUP BY t.g % 2" -> Emitted(1),
    s"SELECT CASE WHEN t.g > 0 THEN 'a' ELSE STRING(t.x) END AS c, SUM(t.x) AS s, MAX(t.g) AS m $Path GROUP BY 1" -> Emitted(
      1
    ),
    s"SELECT DISTINCT t.g > 1 AS b, u.g $Path" -> Emitted(),
    s"SELECT v, SUM(x) AS s FROM (SELECT t.g AS v, t.x $Path UNION ALL SELECT y, k FROM a) GROUP BY v" -> Emitted(),
    s"SELECT t.g, a.y, SUM(t.x) AS s $Path GROUP BY ROLLUP (t.g, a.y)" -> Emitted()
  )

  private def shape(sql: String): BlockShape =
    DeltaCompilation(spark, Plans.analyzed(spark.sql(sql).incrementalEnumerate())).collect {
      case join: JoinFreeJoin => join.shape
    }.maxBy(_.relations.size)

  private def emitted(reduction: Option[ReductionSpec]): Emitted =
    reduction.fold(Emitted())(r => Emitted(r.sums.map(_.factors.size).sorted, r.failures.size))

  for (((sql, sums), i) <- queries.zipWithIndex)
    test(s"after every batch the changes add up to $sql") {
      new Tables().streams()
      assert(emitted(shape(sql).reduction) == sums.copy(factors = sums.factors.sorted))
      check(sql, 4L * i, if (i % 2 == 0) "change_type" else "weight", streaming = i % 6 == 0)
    }

  test("explain says what is added up") {
    new Tables().streams()
    val block = shape(s"SELECT t.g, SUM(CAST(u.g AS BIGINT) * a.y) AS s, SUM(t.x * 2) AS v $Path GROUP BY t.g")
    val text = JoinTreeText(BlockSpec(block, block.attributes.map(_ => 1)))
    assert(text.contains("emitted of its results: how many there are per t.g\n"))
    val keys = shape(s"SELECT t.g % 2 AS p, COUNT(*) AS n $Path GROUP BY t.g % 2")
    assert(JoinTreeText(BlockSpec(keys, keys.attributes.map(_ => 1))).contains("how many there are per (g % 2) of t\n"))
    assert(text.contains("added up over results: u.g times a.y, (x * 2L) of t"), text)
  }

  test("the rows that the format reads of a join lack what only sums need") {
    new Tables().streams()
    val block = shape(s"SELECT t.g, u.g % 2 AS p, SUM(t.x) AS s $Path GROUP BY t.g, u.g % 2")
    assert(block.result.map(_.columns.map(_.name)).contains(Seq("g", "(g % 2)")))
    assert(block.result.exists(_.values.forall(_.isDefined)))
  }

  test("the complete result of groups that a checkpoint does not store is refused by name where it adds up") {
    def query(functions: String) = s"SELECT t.g, $functions $Path GROUP BY t.g"
    val tables = new Tables
    tables.insert(1, 1, 5L, 0.0)
    tables.insertPair(1, 2)
    tables.append(2, 3)
    tables.start(query("SUM(t.x) AS s, COUNT(*) AS n"))
    try tables.advance()
    finally tables.stop()
    assert(tables.full(query("SUM(t.x) AS s, COUNT(*) AS n")) == Map(Seq[Any](1, 5L, 1L) -> 1L))
    assert(tables.full(query("AVG(t.x) AS m")) == Map(Seq[Any](1, 5.0) -> 1L)) // it adds up the same
    for (other <- Seq("SUM(a.y) AS m", "MAX(t.x) AS m", "COUNT(*) AS n")) {
      val refused = intercept[Exception](tables.full(query(other)))
      assert(
        refused.isInstanceOf[SparkThrowable] &&
          refused.asInstanceOf[SparkThrowable].getCondition.startsWith("JOINLESS_STATE_MISMATCH"),
        s"$other: $refused"
      )
    }
  }

  test("an argument that fails is an error where a result has it, and only there; the batch can be run again") {
    val sql = s"SELECT u.g, SUM(t.x * 4) AS s $Path WHERE t.g = 1 GROUP BY u.g"
    val tables = new Tables
    tables.insert(7, 1, 1L << 62, 0.0) // joins nothing
    tables.insert(1, 1, 5L, 0.0)
    tables.insertPair(1, 2)
    tables.append(2, 3)
    def run(): Unit = {
      tables.start(sql)
      try tables.advance()
      finally tables.stop()
    }
    run()
    assert(tables.result == Map(Seq[Any](2, 20L) -> 1L))
    tables.insertPair(7, 2)
    for (_ <- 0 until 2) {
      val failed = intercept[Exception](run())
      val causes = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null).toSeq
      assert(causes.exists {
        case e: SparkThrowable => e.getCondition == "JOINLESS_ARGUMENT_FAILS"
        case _ => false
      })
      assert(causes.exists(_.getMessage.contains("(x * 4")), causes.map(_.getMessage))
    }
    assert(tables.result == Map(Seq[Any](2, 20L) -> 1L))
  }

  test(
    "sums of numbers near the ends of their types are exact, and those of groups that are too large fail as Spark's do"
  ) {
    val sql =
      s"SELECT u.g, SUM(CAST(t.x AS DECIMAL(19, 0)) * CAST(a.y AS DECIMAL(10, 0))) AS s, AVG(t.x) AS m $Path GROUP BY u.g"
    val tables = new Tables
    tables.start(sql)
    try {
      for (x <- Seq(Long.MaxValue, Long.MinValue, -1L, Long.MaxValue)) tables.insert(1, 1, x, 0.0)
      for (_ <- 0 until 3) tables.insertPair(1, 2)
      for (y <- Seq[Integer](Int.MaxValue, Int.MaxValue, Int.MinValue, null)) tables.append(2, y)
      tables.advance()
      assert(tables.result == tables.expected(sql))
      tables.delete(1)
      tables.delete(1)
      tables.advance()
      assert(tables.result == tables.expected(sql))
    } finally tables.stop()
  }
}

object SummedJoinsSpec {
  private val Path = "FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k"

  final case class Emitted(factors: Seq[Int], failures: Int)

  object Emitted {
    def apply(factors: Int*): Emitted = Emitted(factors, 0)
  }
}
