package io.joinless.spark.changes

import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.explain.{JoinTreeGraph, JoinTreeText, ReducedFacts}
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.spec.{BlockShape, BlockSpec, RecordedQuery}
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** GROUP BY over joins: results are counted, not enumerated, and only the cost shows it. */
class CountedJoinsSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  /** Each with the number of its components: 0 if results are enumerated. */
  private val queries = Seq(
    "SELECT t.g, COUNT(*) AS n FROM t JOIN a ON t.k = a.k GROUP BY t.g" -> 1,
    "SELECT t.k, COUNT(*) AS n FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k GROUP BY t.k" -> 1,
    "SELECT COUNT(*) AS n, COUNT(t.x) AS c FROM t JOIN u ON t.k = u.k JOIN a ON t.g = a.k" -> 1,
    "SELECT u.k, COUNT(*) AS n FROM a p JOIN a q ON p.y = q.k JOIN u ON q.y = u.k GROUP BY u.k" -> 1,
    "SELECT t.g, a.y, COUNT(*) AS n, SUM(t.x) AS s FROM t JOIN u ON t.k = u.k JOIN a ON u.k = a.k GROUP BY t.g, a.y" -> 3,
    "SELECT t.g, MAX(a.y) AS m, COUNT(DISTINCT u.g) AS d FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k GROUP BY t.g" -> 0,
    "SELECT t.g, COUNT(*) AS n FROM t JOIN u ON t.k <=> u.k AND t.g <=> u.g JOIN a ON u.g = a.k GROUP BY t.g" -> 1,
    "SELECT t.g, COUNT(*) AS n FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k AND a.y = t.g GROUP BY t.g" -> 3,
    "SELECT SUM(a.y) AS s, COUNT(t.x) AS n FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k AND a.y = t.g" -> 3,
    "SELECT t.g, COUNT(*) AS n FROM t JOIN u ON t.k = u.k JOIN a ON u.k = a.k WHERE t.g < a.y GROUP BY t.g" -> 0,
    "SELECT t.g, COUNT(*) AS n FROM t, u, a GROUP BY t.g" -> 3,
    "SELECT COUNT(*) AS n FROM t, u, a" -> 3,
    "SELECT DISTINCT t.g FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k" -> 1,
    "SELECT u.g, SUM(s.n) AS m FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) s JOIN u ON s.k = u.k JOIN a ON a.k = u.g GROUP BY u.g" -> 1,
    "SELECT n, COUNT(*) AS c FROM (SELECT t.k, COUNT(*) AS n FROM t JOIN a ON t.k = a.k JOIN u ON u.k = a.y GROUP BY t.k) GROUP BY n" -> 1,
    "SELECT v, COUNT(*) AS n FROM (SELECT t.g AS v FROM t JOIN a ON t.k = a.k JOIN u ON a.y = u.k UNION ALL SELECT y FROM a) GROUP BY v" -> 1,
    "SELECT t.g, a.y, COUNT(*) AS n FROM t JOIN a ON t.k = a.k JOIN u ON a.k = u.k GROUP BY ROLLUP (t.g, a.y)" -> 0,
    "SELECT t.g, COUNT(*) AS n FROM t JOIN a ON t.k = a.k AND a.y = 1 JOIN u ON u.k = a.y GROUP BY t.g HAVING COUNT(*) > 1" -> 2,
    "SELECT p.k, COUNT(*) AS n FROM a p JOIN a q ON p.k = q.k JOIN a r ON q.k = r.k GROUP BY p.k" -> 1,
    "SELECT t.g, COUNT(*) AS n FROM t JOIN a ON t.k = a.k WHERE t.k IN (SELECT k FROM u) GROUP BY t.g" -> 1,
    "SELECT t.g, MIN(t.x) AS a, MAX(t.d) AS b FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k GROUP BY t.g" -> 1,
    "SELECT MAX(t.x) AS m, COUNT(DISTINCT t.g) AS n, BOOL_OR(t.g > 1) AS o FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k" -> 1,
    "SELECT DISTINCT u.k FROM a p JOIN a q ON p.y = q.k JOIN u ON q.y = u.k" -> 1,
    "SELECT t.g, COUNT(u.g) AS n FROM t LEFT JOIN u ON t.k = u.k JOIN a ON a.k = t.g GROUP BY t.g" -> 1
  )

  private def shape(sql: String): BlockShape =
    DeltaCompilation(spark, Plans.analyzed(spark.sql(sql).incrementalEnumerate())).collect {
      case join: JoinFreeJoin => join.shape
    }.maxBy(_.relations.size)

  for (((sql, components), i) <- queries.zipWithIndex; counted <- if (i % 4 == 0) Seq(true, false) else Seq(true))
    test(s"${if (counted) "counted" else "enumerated"}: after every batch the changes add up to $sql") {
      withConf(JoinlessConf.AGGREGATES_ENABLED.key -> counted.toString) {
        new Tables().streams()
        assert(shape(sql).reduction.fold(0)(_.components.size) == (if (counted) components else 0))
        for (seed <- 0L until (if (counted) 2L else 1L))
          check(sql, 100 * seed + 4 * i, if (seed % 2 == 0) "change_type" else "weight", streaming = i % 6 == 0)
      }
    }

  test("what needs each result by itself is enumerated, and what counting does not save anything for") {
    new Tables().streams()
    for (
      sql <- Seq(
        "SELECT t.g, u.g FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k",
        "SELECT t.k, t.g, t.x, t.d, u.g, COUNT(*) AS n FROM t JOIN u ON t.k = u.k GROUP BY ALL"
      )
    ) assert(shape(sql).reduction.isEmpty, sql)
  }

  test("a checkpoint goes on as it was begun: it enumerates, counts or adds up, whatever is set now") {
    val sql = "SELECT t.g, COUNT(*) AS n, SUM(a.y) AS s FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k GROUP BY t.g"
    for (first <- Seq(true, false)) {
      val tables = new Tables
      def run(counted: Boolean): Unit = withConf(JoinlessConf.AGGREGATES_ENABLED.key -> counted.toString) {
        tables.start(sql)
        try tables.advance()
        finally tables.stop()
        assert(tables.result == tables.expected(sql))
        val _ = assert(tables.full(sql) == tables.result)
      }
      for ((counted, batch) <- Seq(first, !first, first).zipWithIndex) {
        tables.insert(1, batch, 5L, 0.1)
        tables.insertPair(1, 2)
        tables.append(2, 3 + batch)
        run(counted)
      }
    }
  }

  test("a query is compiled as its checkpoint was begun") {
    new Tables().streams()
    val plan = Plans.analyzed(
      spark.sql("SELECT t.g, SUM(a.y) AS s FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k GROUP BY t.g")
        .incrementalEnumerate()
    )
    def compiled(counted: Boolean, recorded: Option[Seq[BlockShape]]): BlockShape =
      withConf(JoinlessConf.AGGREGATES_ENABLED.key -> counted.toString) {
        DeltaCompilation(spark, plan, recorded.map(RecordedQuery(_))).collect { case join: JoinFreeJoin => join.shape }.head
      }
    val before = Seq(true, false).map(compiled(_, None))
    assert(before.map(_.reduction.map(_.sums.size)) == Seq(Some(1), None))
    for (begun <- before; counted <- Seq(true, false)) assert(compiled(counted, Some(Seq(begun))) == begun)
  }

  test("equal results count once where nobody needs their number") {
    new Tables().streams()
    val from = "FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k"
    def once(select: String): Boolean = shape(s"SELECT $select $from GROUP BY t.g").reduction.get.once
    assert(once("t.g") && once("t.g, MAX(t.x) AS m, COUNT(DISTINCT t.x) AS n"))
    assert(!once("t.g, COUNT(*) AS n") && !once("t.g, MAX(t.x) AS m, COUNT(t.x) AS n") && !once("t.g, FIRST(t.x) AS f"))
    val block = shape(s"SELECT DISTINCT t.g $from")
    assert(JoinTreeText(BlockSpec(block, block.attributes.map(_ => 1))).contains("whether there are any per t.g"))
  }

  test("explain says what is counted, per what, and what is summed up below") {
    new Tables().streams()
    val block = shape("SELECT u.k, COUNT(*) AS n FROM a p JOIN a q ON p.y = q.k JOIN u ON q.y = u.k GROUP BY u.k")
    val text = JoinTreeText(BlockSpec(block, block.attributes.map(_ => 1)))
    assert(text.linesIterator.next() == "Join-free counts over p, q, u")
    assert(text.contains("emitted of its results: how many there are per u.k"))
    assert(text.contains("results are not enumerated"))
    val facts = ReducedFacts(block, block.reduction.get)
    assert(facts.eliminated.size == 1 && facts.added.isEmpty && facts.height == 2)
    val spec = BlockSpec(block, block.attributes.map(_ => 1))
    val graph = JoinTreeGraph.mermaid(Seq(spec))
    assert(graph.contains("\"counts of p and q and u per q.y, multiplied\"") && !graph.contains("V_s"))
    val json = JoinTreeGraph.json(Seq(spec), Nil)
    assert(json.contains(s"\"root\":\"${facts.tree.name}\",\"height\":2") && json.contains("\"key\":[\"q.y\"]"))
    val ends =
      shape("SELECT p.k, u.g, COUNT(*) AS n FROM a p JOIN u ON p.y = u.k JOIN a r ON r.k = u.k GROUP BY p.k, u.g")
    assert(ReducedFacts(ends, ends.reduction.get).added == Seq("p.y"))
    // components of one relation each, two of them below the third in the top
    val three =
      shape("SELECT t.g, u.g, a.y, SUM(t.x) AS s FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k GROUP BY t.g, u.g, a.y")
    val ofThree = ReducedFacts(three, three.reduction.get)
    assert(ofThree.components.size == 3 && ofThree.height == 2, ofThree.tree.lines().mkString("\n"))
  }
}
