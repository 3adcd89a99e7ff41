package io.joinless.spark.changes

import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.api._
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.plans.nodes.Groups
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.StreamingQueryException
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.funsuite.AnyFunSuite

/** Queries with GROUP BY and DISTINCT: after every batch their changes add up to the result of
  * batch SQL.
  */
class GroupQueriesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val queries = Seq(
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g",
    "SELECT g, COUNT(x) AS n, SUM(x) AS s, AVG(x) AS m, SUM(d) AS sd, AVG(d) AS md FROM t GROUP BY g",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM t",
    "SELECT DISTINCT g FROM t",
    "SELECT DISTINCT t.g, a.y FROM t JOIN a ON t.k = a.k",
    "SELECT t.g, COUNT(*) AS n, SUM(t.x * a.y) AS s FROM t JOIN a ON t.k = a.k GROUP BY t.g",
    "SELECT a.y, SUM(x) FILTER (WHERE d > 0) AS s, COUNT(x, d) AS n FROM t JOIN a ON t.k = a.k GROUP BY a.y",
    "SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING COUNT(*) > 2 AND SUM(x) IS NOT NULL",
    "SELECT n, COUNT(*) AS groups FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g) GROUP BY n",
    "SELECT s.n, a.y FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) s JOIN a ON s.k = a.k",
    "SELECT a.y, SUM(s.n) AS n FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) s JOIN a ON s.k = a.k GROUP BY a.y",
    "SELECT p.n, q.n AS m FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) p " +
      "JOIN (SELECT k, COUNT(y) AS n FROM a GROUP BY k) q ON p.k = q.k",
    "SELECT COUNT(*) > 3 AS many FROM t GROUP BY g",
    "SELECT g % 2 AS odd, SUM(CAST(x AS DECIMAL(30, 2)) + 0.25) AS s, AVG(CAST(x AS DECIMAL(20, 1))) AS m FROM t GROUP BY 1",
    "SELECT y, COUNT(*) AS n FROM a GROUP BY y",
    "SELECT DISTINCT y FROM (SELECT y FROM a UNION ALL SELECT k FROM a)",
    "SELECT t.k, t.g FROM t JOIN (SELECT AVG(x) AS m FROM t) all ON t.x > all.m JOIN a ON a.k = t.k"
  )

  private val unions = Seq(
    "SELECT t.g, a.y FROM t JOIN a ON t.k = a.k UNION ALL SELECT k, y FROM a",
    "SELECT t.g AS v, COUNT(*) AS n FROM t GROUP BY t.g UNION ALL SELECT y, COUNT(*) FROM a GROUP BY y",
    "SELECT v, COUNT(*) AS n FROM (SELECT t.g AS v FROM t JOIN a ON t.k = a.k UNION ALL SELECT y FROM a WHERE y > 0) GROUP BY v",
    "SELECT t.g FROM t JOIN a ON t.k = a.k UNION SELECT k FROM t",
    "SELECT v + 1 AS w FROM (SELECT p.k AS v FROM a p JOIN a q ON p.k = q.y UNION ALL SELECT y FROM a) WHERE v < 3"
  )

  private val rowWise = Seq(
    "SELECT t.g, a.y, COUNT(*) AS n, GROUPING(a.y) AS all FROM t JOIN a ON t.k = a.k GROUP BY ROLLUP (t.g, a.y)",
    "SELECT g, k, SUM(x) AS s FROM t GROUP BY GROUPING SETS ((g), (k), ())",
    "SELECT v, COUNT(*) AS n FROM (SELECT EXPLODE(ARRAY(t.k, a.y)) AS v FROM t JOIN a ON t.k = a.k) GROUP BY v",
    "SELECT y, EXPLODE(SEQUENCE(0, y)) AS z FROM a"
  )

  private val valueQueries = Seq(
    "SELECT g, MIN(x) AS a, MAX(x) AS b, MIN(d) AS c, MAX(d) AS e FROM t GROUP BY g",
    "SELECT MIN(x) AS a, MAX(d) AS b, COUNT(DISTINCT g) AS n FROM t",
    "SELECT k, COUNT(DISTINCT x) AS n, SUM(DISTINCT x) AS s, AVG(DISTINCT d) AS m, COUNT(*) AS c FROM t GROUP BY k",
    "SELECT y, MIN(k) AS a, MAX(k) AS b, COUNT(DISTINCT k) AS n FROM a GROUP BY y",
    "SELECT a.y, MAX(t.x) AS b, COUNT(DISTINCT t.g, t.k) AS n FROM t JOIN a ON t.k = a.k GROUP BY a.y",
    "SELECT p.y, MAX(q.k) AS b, BOOL_OR(p.y > q.y) AS o FROM a p JOIN a q ON p.k = q.k GROUP BY p.y",
    "SELECT g, MAX(CAST(x AS STRING)) AS b, MIN(NAMED_STRUCT('d', d, 'x', x)) AS c FROM t GROUP BY g",
    "SELECT n, MAX(s) AS b FROM (SELECT g, k, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g, k) GROUP BY n",
    "SELECT g, COUNT(DISTINCT x) FILTER (WHERE d > 0) AS n, MAX(x) FILTER (WHERE d < 1) AS b FROM t GROUP BY g",
    "SELECT t.g, t.x FROM t JOIN (SELECT g, MAX(x) AS x FROM t GROUP BY g) m ON t.g = m.g AND t.x = m.x"
  )

  private val otherFunctions = Seq(
    // the order of rows may decide on last digits: 2E-7 moves exact values, as -0.2265625, away
    // from the middle between two rounded values
    "SELECT g, ROUND(STDDEV(x % 100), 6) AS s, ROUND(VAR_POP(d) + 2E-7, 6) AS v, ROUND(COVAR_POP(k, d) + 2E-7, 6) AS c FROM t GROUP BY g",
    "SELECT g, SORT_ARRAY(COLLECT_SET(x)) AS xs, SORT_ARRAY(COLLECT_LIST(k)) AS ks FROM t GROUP BY g",
    "SELECT g, MEDIAN(x) AS m, PERCENTILE(d, 0.25) AS p, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY k) AS q FROM t GROUP BY g",
    "SELECT MAX_BY(k, STRUCT(x, d, k)) AS b, MIN_BY(g, STRUCT(x, d, k, g)) AS a, BIT_XOR(x) AS z FROM t",
    "SELECT a.y, LISTAGG(t.k, ',') WITHIN GROUP (ORDER BY t.k DESC) AS ks, COUNT(*) AS n FROM t JOIN a ON t.k = a.k GROUP BY a.y",
    "SELECT g, SORT_ARRAY(COLLECT_LIST(DISTINCT k) FILTER (WHERE d > 0)) AS ks, APPROX_COUNT_DISTINCT(x) AS n FROM t GROUP BY g",
    "SELECT y, MODE(k, true) AS m, SKEWNESS(k) IS NULL AS none FROM a GROUP BY y"
  )

  for ((sql, i) <- (queries ++ valueQueries ++ unions ++ rowWise ++ otherFunctions).zipWithIndex)
    test(s"changes of groups: $sql") {
      val seed = Seeds.of(sql)
      val form = if (i % 2 == 0) "change_type" else "weight"
      val store = "org.apache.spark.sql.execution.streaming.state." +
        (if (i % 3 == 0) "RocksDBStateStoreProvider" else "HDFSBackedStateStoreProvider")
      withConf(
        "spark.sql.streaming.stateStore.providerClass" -> store,
        "spark.sql.streaming.stateStore.checkpointFormatVersion" -> (if (i % 6 == 0) "2" else "1"),
        "spark.joinless.crossProducts.enabled" -> "true"
      )(check(sql, seed, form, streaming = i % 6 == 0))
    }

  test("the complete result is that of the changes, where a join or a changelog is below") {
    val below =
      Seq(
        queries(1),
        queries(2),
        queries(5),
        queries(8),
        queries(10),
        valueQueries(2),
        valueQueries(4),
        unions(0),
        rowWise(0),
        rowWise(2),
        otherFunctions(2),
        otherFunctions(5)
      )
    below.zipWithIndex.foreach { case (sql, seed) => checkFull(sql, seed.toLong) }
  }

  test(
    "the complete result of groups is what was emitted of them: it is read from their stores, not from the joins below"
  ) {
    val sums = queries(1).replace("FROM t", "FROM t JOIN a ON t.k = a.k")
    val all = Seq(
      queries(2),
      queries(6),
      queries(7),
      queries(8),
      queries(14),
      valueQueries(3),
      otherFunctions(5),
      unions(1),
      sums
    )
    for ((sql, i) <- all.zipWithIndex) {
      val rocks = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
      val confs =
        if (i % 2 == 0) Nil
        else Seq(
          "spark.sql.streaming.stateStore.providerClass" -> rocks,
          "spark.sql.streaming.stateStore.checkpointFormatVersion" -> (if (i % 4 == 1) "1" else "2")
        )
      withConf(confs: _*) {
        val (tables, rng) = (new Tables, new Random(i.toLong))
        tables.start(sql)
        try for (_ <- 0 until 3) { tables.random(rng); tables.advance() }
        finally tables.stop()
        assert(tables.full(sql) == tables.result, sql)
        val leaves = tables.readFrom(sql)
        assert(leaves.nonEmpty && leaves.forall(_.contains("groups")), s"$sql: $leaves")
      }
    }
  }

  test("the complete result of groups of other rows is not that of the groups in the store") {
    def begun(sql: String): Tables = {
      val tables = new Tables
      tables.start(sql)
      for (i <- 0 until 6) tables.append(i % 3, i)
      for (i <- 0 until 6) tables.insert(i % 3, i % 2, i.toLong, 0.5)
      tables.advance()
      tables.stop()
      tables
    }
    val appended = "SELECT y, COUNT(*) AS n FROM a GROUP BY y"
    val tables = begun(appended)
    assert(tables.full(appended.replace("y, COUNT(*) AS n", "y AS z, COUNT(*) AS m")) == tables.result)
    for (
      other <-
        Seq("FROM a WHERE k > 1", "FROM (SELECT k AS y FROM a)", "FROM (SELECT y FROM a UNION ALL SELECT k FROM a)")
    ) {
      val refused = intercept[JoinlessAnalysisException](tables.full(appended.replace("FROM a", other)))
      assert(refused.getCondition == "JOINLESS_ROWS_NOT_STORED", other)
    }
    val joined = begun("SELECT p.y, COUNT(*) AS n FROM a p JOIN a q ON p.k = q.k GROUP BY p.y")
    def where(condition: String) = s"SELECT p.y, COUNT(*) AS n FROM a p JOIN a q ON p.k = q.k $condition GROUP BY p.y"
    for (sql <- Seq(where("WHERE p.y > 2"), where(""))) assert(joined.full(sql) == joined.expected(sql), sql)
    val unseen = intercept[JoinlessAnalysisException](joined.full(where("WHERE q.y > 2")))
    assert(unseen.getMessage.contains("the rows of q where (y > 2)"), unseen.getMessage)
    val filtered = begun(where("WHERE p.y > 2 AND t.x > 0").replace("p.k = q.k", "p.k = q.k JOIN t ON q.k = t.k"))
    for (condition <- Seq("p.y > 3 AND t.x > 0", "t.x > 0")) {
      val other = where(s"WHERE $condition").replace("p.k = q.k", "p.k = q.k JOIN t ON q.k = t.k")
      assert(intercept[JoinlessAnalysisException](filtered.full(other)).getMessage.contains("(y > 2)"), other)
    }
    assert(joined.full(
      "SELECT n FROM (SELECT p.y, COUNT(*) AS n FROM a p JOIN a q ON p.k = q.k GROUP BY p.y) WHERE y = 1"
    ).size == 1)
  }

  /** The error that refuses a restart as `after` of a query begun as `before`; None if it
    * continues.
    */
  private def restarted(before: String, after: String, between: () => Unit = () => ()): Option[String] = {
    val tables = new Tables
    tables.start(before)
    tables.insert(1, 1, 5L, 0.5)
    tables.insert(1, 2, 6L, 1.5)
    tables.append(1, 1)
    tables.advance()
    tables.stop()
    val zone = spark.conf.get("spark.sql.session.timeZone")
    between()
    val refused =
      try {
        tables.start(after)
        tables.insert(2, 2, 7L, 0.25)
        tables.append(1, 0)
        tables.advance()
        None
      } catch {
        case e: StreamingQueryException =>
          Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).collectFirst {
            case refused: JoinlessAnalysisException => refused.getMessage
          }
        case refused: JoinlessAnalysisException => Some(refused.getMessage)
      } finally tables.stop()
    spark.conf.set("spark.sql.session.timeZone", zone)
    // the original query continues, whatever was tried
    tables.start(before)
    tables.advance()
    tables.stop()
    if (refused.isDefined) assert(tables.result == tables.expected(before), s"$before, after $after")
    refused
  }

  test("a restart with other groups is refused by name, and nothing is lost") {
    val before = "SELECT g, SUM(x) AS s FROM t GROUP BY g HAVING SUM(x) > 2"
    val others = Seq(
      "SELECT g, SUM(x + 1) AS s FROM t GROUP BY g HAVING SUM(x + 1) > 2" -> "sum",
      "SELECT k, SUM(x) AS s FROM t GROUP BY k HAVING SUM(x) > 2" -> "k",
      "SELECT g, MAX(x) AS s FROM t GROUP BY g HAVING MAX(x) > 2" -> "max(",
      "SELECT g, SUM(x) AS s FROM t GROUP BY g HAVING SUM(x) > 3" -> "3",
      "SELECT g, SUM(x) + 1 AS s FROM t GROUP BY g HAVING SUM(x) > 2" -> "+ 1",
      "SELECT g, SUM(CAST(x AS INT)) AS s FROM t GROUP BY g HAVING SUM(CAST(x AS INT)) > 2" -> "CAST",
      "SELECT g, x FROM t WHERE x > 2" -> "JOINLESS_STATE_MISMATCH"
    )
    for ((after, named) <- others) {
      val refused = restarted(before, after)
      assert(
        refused.exists(text => text.contains("JOINLESS_STATE_MISMATCH") && text.contains(named)),
        s"$after: $refused"
      )
    }
    assert(restarted(before, "SELECT g AS h, SUM(x) AS total FROM t GROUP BY g HAVING SUM(x) > 2").isEmpty)
  }

  test("dropDuplicates of all columns is DISTINCT, of some it is refused by name") {
    val tables = new Tables
    tables.streams()
    def compiled(df: DataFrame) = DeltaCompilation(spark, Changes.markedUnchecked(Plans.analyzed(df), DeltaForm.Weight))
    val t = spark.table("t").select("g", "x")
    for (df <- Seq(t.distinct(), t.dropDuplicates(), t.dropDuplicates("x", "g")))
      assert(compiled(df).collect { case groups: Groups => groups.shape } ==
        compiled(spark.sql("SELECT DISTINCT g, x FROM t")).collect { case groups: Groups => groups.shape })
    val refused = intercept[JoinlessAnalysisException](compiled(t.dropDuplicates("g")))
    assert(refused.getMessage.contains("dropDuplicates of some columns"), refused.getMessage)
  }

  test("a restart with another explode or union above rows that are inserted and deleted is refused by name") {
    val exploded = "SELECT t.g, EXPLODE(SEQUENCE(0, t.k)) AS i FROM t JOIN a ON t.k = a.k"
    val other = restarted(exploded, exploded.replace("0, t.k", "1, t.k"))
    assert(other.exists(_.contains("sequence(1")), other)
    val groups = "SELECT EXPLODE(ARRAY(n, g)) AS v FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)"
    assert(restarted(groups, groups.replace("n, g", "g, n")).exists(_.contains("JOINLESS_STATE_MISMATCH")))
    val union = "SELECT t.g FROM t JOIN a ON t.k = a.k UNION ALL SELECT g FROM t WHERE k > 0"
    assert(restarted(union, union.replace("k > 0", "k > 1")).exists(_.contains("JOINLESS_STATE_MISMATCH")))
    assert(restarted(exploded, exploded).isEmpty && restarted(union, union).isEmpty)
  }

  test("a restart in another time zone is refused where a value depends on it") {
    val zoned = "SELECT DATE_FORMAT(TIMESTAMP_SECONDS(x), 'dd') AS day, COUNT(*) AS n FROM t GROUP BY 1"
    val above = "SELECT g, CAST(TIMESTAMP_SECONDS(SUM(x)) AS STRING) AS at FROM t GROUP BY g"
    val below = "SELECT t.g, DATE_FORMAT(TIMESTAMP_SECONDS(t.x), 'HH') AS hour FROM t JOIN a ON t.k = a.k"
    val apart =
      "SELECT EXPLODE(ARRAY(DATE_FORMAT(TIMESTAMP_SECONDS(t.x), 'HH'), 'x')) AS hour FROM t JOIN a ON t.k = a.k"
    for ((sql, refused) <- Seq(zoned, above, below, apart).map(_ -> true) :+ (queries.head -> false)) {
      val found = withConf("spark.sql.session.timeZone" -> "UTC") {
        restarted(sql, sql, () => spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo"))
      }
      assert(found.exists(_.contains("time zone")) == refused, s"$sql: $found")
    }
  }

  test("groups of an insert-only stream: another filter goes on, as in Spark; other groups do not") {
    val before = "SELECT y, COUNT(*) AS n FROM a GROUP BY y"
    assert(restarted(before, "SELECT y, SUM(k) AS n FROM a GROUP BY y").exists(_.contains("JOINLESS_STATE_MISMATCH")))
  }

  test("a sum may be larger on the way, and fails where it does not fit at the end") {
    val tables = new Tables
    tables.start("SELECT g, SUM(x) AS s FROM t GROUP BY g")
    tables.insert(1, 1, Long.MaxValue, 0.0)
    tables.insert(2, 1, Long.MaxValue, 0.0)
    tables.delete(0)
    tables.advance()
    assert(tables.result == Map(Seq(1, Long.MaxValue) -> 1L))
    tables.insert(3, 1, 1L, 0.0)
    val error = intercept[StreamingQueryException](tables.advance())
    val texts = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.getMessage).mkString("\n")
    assert(texts.contains("ARITHMETIC_OVERFLOW"), texts)
  }

  test("a batch of groups of which some were read is not marked as done") {
    val tables = new Tables
    tables.streams()
    val checkpoint = TestFolders.create("groups").resolve("cp").toString
    var rows = Seq.empty[Row]
    def run(sql: String, form: String)(each: DataFrame => Any): Unit = {
      val write: (org.apache.spark.sql.Dataset[Row], Long) => Unit = (batch, _) => { val _ = each(batch) }
      val running = spark.sql(sql).incrementalEnumerate(form).writeStream.option("checkpointLocation", checkpoint)
        .foreachBatch(write).start()
      try {
        tables.send()
        running.processAllAvailable()
      } finally running.stop()
    }
    val sql = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
    for (g <- 0 until 20) tables.insert(g, g, 1L, 0.5)
    val error = intercept[StreamingQueryException](run(sql, "weight")(_.take(1)))
    assert(error.getMessage.contains("JOINLESS_BATCH_NOT_READ"), error.getMessage)
    run(sql, "weight") { batch =>
      assert(!batch.isEmpty)
      rows ++= batch.collect()
    }
    assert(rows.size == 20)
  }

}
