package io.joinless.spark.evolve

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.api._
import io.joinless.spark.{BatchSql, SharedSpark}
import org.apache.spark.sql.streaming.{StreamingQueryException, Trigger}
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.funsuite.AnyFunSuite

/** Queries that begin with the stored rows of another one. The oracle is the changed query as batch
  * SQL over the rows that its tables have. Files of streams that continue are removed: a query that
  * read them again would fail.
  */
class EvolutionSpec extends AnyFunSuite with SharedSpark {

  private val joined = "FROM t JOIN u ON t.k = u.k"
  private val queries = IndexedSeq(
    s"SELECT t.k, t.x, u.g $joined",
    s"SELECT t.x, u.g $joined WHERE t.x > 1",
    s"SELECT t.x, u.g, t.x + u.g AS s $joined WHERE t.x > 1 AND u.g < 4",
    s"SELECT u.g, COUNT(*) AS n, SUM(t.x) AS s $joined GROUP BY u.g",
    s"SELECT u.g, MAX(t.x) AS m, COUNT(DISTINCT t.k) AS n $joined WHERE t.x IS NOT NULL GROUP BY u.g",
    s"SELECT t.g, a.y, COUNT(*) AS n $joined JOIN a ON a.k = t.k GROUP BY t.g, a.y",
    s"SELECT DISTINCT t.k, a.y $joined JOIN a ON a.k = u.g",
    "SELECT t.k, t.x, u.g FROM t LEFT JOIN u ON t.k = u.k",
    "SELECT t.x, u.g, u.k FROM t FULL JOIN u ON t.k = u.k AND t.x > 0",
    "SELECT t.k, t.x FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k)",
    "SELECT t.k, t.x FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.g > 1)",
    "SELECT p.x, q.x AS y FROM t p JOIN t q ON p.k = q.k AND p.x < q.x",
    "SELECT p.k, q.x, r.g FROM t p JOIN t q ON p.k = q.k JOIN t r ON q.x = r.x",
    "SELECT p.y, q.y AS z FROM a p JOIN a q ON p.k = q.k",
    "SELECT p.y, COUNT(*) AS n FROM a p JOIN a q ON p.k = q.k WHERE q.y > 0 GROUP BY p.y",
    "SELECT p.y, q.y AS z FROM a p JOIN a q ON p.k = q.k JOIN a r ON r.y = q.y",
    "SELECT t.x, u.g FROM t JOIN u ON t.k + 1 = u.k",
    "SELECT t.x, c.n FROM t JOIN (SELECT k, COUNT(*) AS n FROM u GROUP BY k) c ON c.k = t.k",
    "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g",
    "SELECT k, x, SUM(x) OVER (PARTITION BY k) AS s FROM t",
    "SELECT k, x FROM (SELECT k, x, ROW_NUMBER() OVER (PARTITION BY k ORDER BY x DESC) AS n FROM t) WHERE n = 1",
    "SELECT k, g, x FROM t ORDER BY x DESC, g, k LIMIT 3",
    "SELECT k FROM t UNION ALL SELECT k FROM u",
    "SELECT y, k FROM a WHERE k > 0",
    "SELECT y, COUNT(*) AS n FROM a GROUP BY y",
    "SELECT DISTINCT k, y FROM a WHERE y < 3",
    "SELECT y, k FROM (SELECT k, y, ROW_NUMBER() OVER (PARTITION BY k ORDER BY y) AS n FROM a) WHERE n = 1",
    "SELECT t.k, c.n FROM t LEFT JOIN (SELECT k, COUNT(*) AS n FROM a GROUP BY k) c ON c.k = t.k",
    "SELECT t.k, t.x FROM t WHERE t.x > (SELECT AVG(g) FROM u)"
  )

  /** Runs of a query on a checkpoint, and the rows that its batches have emitted so far. */
  final private class Run(tables: EvolvingTables, val sql: String, val checkpoint: String) {
    private val batches = new ConcurrentHashMap[Long, Seq[Row]]

    def query: DataFrame = {
      tables.streams()
      spark.sql(sql)
    }

    /** Reads what there is.
      *
      * @param broken a batch that fails when its rows are computed
      */
    def run(broken: Option[Long] = None): Unit = {
      val running = query.incrementalEnumerate("weight").writeStream
        .option("checkpointLocation", checkpoint).trigger(Trigger.AvailableNow())
        .foreachBatch { (rows: DataFrame, batch: Long) =>
          val all = rows.collect().toSeq
          if (broken.contains(batch)) throw new IllegalStateException("killed")
          val _ = batches.put(batch, all)
        }.start()
      if (broken.isEmpty) running.awaitTermination()
      else {
        val failed = intercept[StreamingQueryException](running.awaitTermination())
        val _ = assert(failed.getMessage.contains("killed"))
      }
    }

    /** The result after a batch. */
    def after(batch: Long): Seq[String] = {
      val sums = batches.asScala.toSeq.filter(_._1 <= batch).flatMap(_._2)
        .groupMapReduce(row => Row.fromSeq(row.toSeq.init).toString)(_.toSeq.last.asInstanceOf[Long])(_ + _)
      assert(sums.values.forall(_ >= 0), s"after batch $batch of $sql")
      sums.toSeq.flatMap { case (row, n) => Seq.fill(n.toInt)(row) }.sorted
    }

    def result: Seq[String] = after(Long.MaxValue)

    def expected: Seq[String] = {
      tables.rows()
      BatchSql.rows(spark.sql(sql)).map(_.toString).sorted
    }
  }

  /** Lets a query begin with the rows of another one, and lets both go on.
    */
  private def evolve(before: String, after: String, rng: Random): Evolution = {
    val tables = new EvolvingTables(spark)
    val old = new Run(tables, before, tables.checkpoint("old"))
    tables.begin(rng)
    for (_ <- 0 to rng.nextInt(3)) {
      old.run()
      tables.change(rng)
    }
    old.run()
    assert(old.result == old.expected)
    val changed = new Run(tables, after, tables.checkpoint("new"))
    val evolution = Evolution(changed.query, old.checkpoint)
    val first = changed.expected
    BeginWithStoredRows.request(spark, changed.checkpoint, old.checkpoint)
    tables.remove(evolution.stored)
    if (rng.nextBoolean()) tables.change(rng)
    val cells = Seq(1, 2, 3)(rng.nextInt(3)).toString
    withConf("spark.joinless.placement.maxCells" -> cells, "spark.sql.shuffle.partitions" -> cells) {
      if (rng.nextInt(3) == 0) changed.run(broken = Some(0))
      changed.run()
    }
    if (evolution.again.isEmpty) assert(changed.after(0) == first)
    assert(changed.result == changed.expected)
    for (_ <- 0 to rng.nextInt(2)) {
      tables.change(rng)
      if (rng.nextInt(4) == 0) old.run() // it goes on beside the other one, as far as its files are there
      changed.run()
      assert(changed.result == changed.expected)
    }
    evolution
  }

  for (
    (before, after) <- Seq(
      "SELECT k, y FROM a" -> "SELECT y, COUNT(*) AS n FROM a GROUP BY y",
      "SELECT k, y FROM a WHERE y > 0" ->
        "SELECT y, k FROM (SELECT k, y, ROW_NUMBER() OVER (PARTITION BY k ORDER BY y) AS n FROM a WHERE y > 0) WHERE n = 1",
      "SELECT k, g, x FROM t" -> "SELECT k, SUM(x) OVER (PARTITION BY g) AS s FROM t",
      "SELECT t.k, a.y FROM t JOIN a ON t.x = a.k" -> "SELECT k, y FROM a WHERE k IS NOT NULL UNION ALL SELECT x, k FROM t WHERE x > 1"
    )
  ) test(s"evolve_ $before; then $after") {
    assert((1 to 3).forall(i => evolve(before, after, new Random(i)).again.isEmpty))
  }

  for (
    (before, after, why) <- Seq(
      (s"SELECT t.x, u.g $joined WHERE t.x > 1", s"SELECT t.x, u.g $joined", "only its rows where (x > 1) are stored"),
      (
        s"SELECT t.x, u.g $joined",
        "SELECT t.x, u.g FROM t LEFT JOIN u ON t.k = u.k",
        "its rows without k are not stored"
      ),
      (s"SELECT t.x $joined", s"SELECT t.x $joined WHERE t.g > 1", "its g is not stored"),
      (
        "SELECT y, COUNT(*) AS n FROM a GROUP BY y",
        "SELECT y, k FROM a",
        "the old query does not store its rows as they are"
      ),
      (s"SELECT t.x $joined", "SELECT t.x FROM t JOIN a ON t.k = a.k", "the old query does not read it")
    )
  ) test(s"evolve_ $before; then $after: $why") {
    assert(evolve(before, after, new Random(5)).again.map(_._2).contains(why))
  }

  private val seed = Seeds.of("evolution")
  private val pairs = sys.env.get("JOINLESS_EVOLUTIONS").fold(10)(_.toInt)

  test(s"evolve_ random pairs of queries, from seed $seed") {
    val stored = (0 until pairs).map { i =>
      val rng = new Random(seed + i)
      // the first ones have most in common
      val among = if (rng.nextBoolean()) 9 else queries.size
      val (before, after) = (queries(rng.nextInt(among)), queries(rng.nextInt(among)))
      withClue(s"seed ${seed + i}: $before; then: $after: ")(evolve(before, after, rng))
    }
    assert(stored.count(_.stored.nonEmpty) >= pairs / 4)
  }
}
