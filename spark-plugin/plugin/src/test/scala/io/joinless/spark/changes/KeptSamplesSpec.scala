package io.joinless.spark.changes

import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.batches.PlayedQuery
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.plans.nodes.JoinFreeJoin
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** Samples that are kept of the results of queries: after every batch a sample is a part of the
  * query's result, and has as many rows as it should. Which rows these are follows from the seed.
  * The law is tested on the engine (`engine.sample.SampleSpec`).
  */
class KeptSamplesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {
  import KeptSamplesSpec._

  for (((query, direct), i) <- queries.zipWithIndex)
    test(s"after every batch the sample is a part of $query")(inOneCell {
      val size = Seq(1, 3, 8, 1000)(i % 4)
      val sql = sampled(query, size)
      new Tables().streams()
      assert(sampledRelations(sql) == direct, "relations of the block of which the sample is kept")
      val seed = Seeds.of(sql)
      // a stream may cut the rows into other batches, and so have another sample
      if (i % 8 == 0) { val _ = play(query, sql, size, seed, streaming = true) }
      val one = play(query, sql, size, seed, streaming = false)
      assert(play(query, sql, size, seed, streaming = false) == one, s"seed $seed: the same batches again")
    })

  /** The session of the tests sets a number of cells. */
  private def inOneCell[A](body: => A): A = withConf("spark.joinless.placement.maxCells" -> "0")(body)

  for ((query, i) <- queries.map(_._1).zipWithIndex if i % 3 == 0; cells <- Seq(3, 4))
    test(s"the samples of $cells cells are merged: $query") {
      withConf("spark.sql.shuffle.partitions" -> s"$cells", "spark.joinless.placement.maxCells" -> s"$cells") {
        val sql = sampled(query, Seq(2, 5, 1000)(i / 3 % 3))
        val _ = play(query, sql, Seq(2, 5, 1000)(i / 3 % 3), Seeds.of(sql) + cells, streaming = false)
      }
    }

  /** The relations of the block that is sampled. */
  private def sampledRelations(sql: String): Int =
    DeltaCompilation(spark, Plans.analyzed(spark.sql(sql).incrementalEnumerate())).collect {
      case join: JoinFreeJoin if join.shape.sample.isDefined => join.shape.relations.size
    }.sum

  /** Plays four batches with a restart in the middle; returns the sample after each. */
  private def play(query: String, sql: String, size: Int, seed: Long, streaming: Boolean): Seq[Map[Seq[Any], Long]] = {
    val rng = new Random(seed)
    val tables = new Tables
    tables.start(sql, "weight", if (streaming) PlayedQuery.AsStream else PlayedQuery.AsBatches(Some(seed)))
    try
      for (batch <- 0 until 4) yield {
        if (batch == 2) tables.restart()
        tables.random(rng)
        tables.advance()
        if (tables.begun) {
          val (all, sample) = (tables.expected(query), tables.result)
          val where = s"seed $seed, batch $batch"
          assert(sample.forall { case (row, copies) => copies <= all.getOrElse(row, 0L) }, s"$where: $sample of $all")
          assert(sample.values.sum == math.min(size.toLong, all.values.sum), s"$where: $sample of $all")
          if (batch == 3) assert(tables.full(sql) == sample, where)
        }
        tables.result
      }
    finally tables.stop()
  }

  for ((query, column, other) <- usedTwice)
    test(s"two uses of a sample are one sample, whatever columns they need: $query")(inOneCell {
      val kept = s"sample(TABLE($query), 6, 7)"
      val tables = new Tables
      tables.start(
        s"SELECT SUM($column) AS s, (SELECT SUM($column) FROM $kept) AS same, SUM($other) AS more FROM $kept",
        "weight",
        PlayedQuery.AsBatches(None)
      )
      try {
        for (i <- 0 until 30) {
          tables.insert(i % 4, i % 3, i.toLong * i, 0.5)
          tables.insertPair(i % 4, i)
          tables.append(i % 4, i * i)
        }
        tables.advance()
        val sums = tables.result.keys.toSeq
        val _ = assert(sums.size == 1 && sums.forall(row => row(0) == row(1) && row(2) != null), sums)
      } finally tables.stop()
    })

  test("other seeds give other samples")(inOneCell {
    val query = s"SELECT t.x, a.y $Path"
    val samples = for (seed <- 0 until 6) yield {
      val tables = new Tables
      tables.start(s"SELECT * FROM sample(TABLE($query), 4, $seed)", "weight", PlayedQuery.AsBatches(None))
      try {
        for (x <- 0 until 50) tables.insert(1, 1, x.toLong, 0.5)
        tables.insertPair(1, 2)
        tables.append(2, 3)
        tables.advance()
        tables.result
      } finally tables.stop()
    }
    assert(samples.distinct.size == 6 && samples.forall(_.values.sum == 4))
  })
}

private object KeptSamplesSpec {
  private val Path = "FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k"

  /** Each with the number of relations of the block that is sampled: 1 where it is no block, and its
    * rows are stored.
    */
  private val queries = Seq(
    s"SELECT t.g, t.x, u.g AS h, a.y $Path" -> 3,
    s"SELECT t.g $Path" -> 3,
    s"SELECT t.g + a.y AS s, CONCAT(STRING(t.x), '-') AS c $Path WHERE t.g < a.y" -> 3,
    "SELECT p.k, q.y, r.y AS z FROM a p JOIN a q ON p.y = q.k JOIN a r ON q.y = r.k" -> 3,
    "SELECT k, y FROM a" -> 1,
    "SELECT k, x FROM t WHERE g = 1" -> 1,
    "SELECT t.g, u.g AS h FROM t, u" -> 2,
    "SELECT t.g, COUNT(*) AS n, MAX(t.x) AS m FROM t GROUP BY t.g" -> 1,
    s"SELECT t.g, a.y, SUM(t.x) AS s $Path GROUP BY t.g, a.y" -> 1,
    "SELECT t.x, u.g FROM t LEFT JOIN u ON t.k = u.k" -> 2,
    "SELECT k, g FROM t UNION ALL SELECT k, y FROM a" -> 1,
    s"SELECT DISTINCT t.g, a.y $Path" -> 1,
    "SELECT t.x, EXPLODE(ARRAY(u.g, t.g)) AS e FROM t JOIN u ON t.k = u.k" -> 1,
    "SELECT t.x, n.c FROM t JOIN (SELECT k, COUNT(*) AS c FROM u GROUP BY k) n ON t.k = n.k" -> 2,
    "SELECT t.x FROM t WHERE t.k IN (SELECT k FROM u)" -> 2,
    "SELECT x FROM t ORDER BY x LIMIT 5" -> 1
  )

  /** Queries with two columns of numbers. */
  private val usedTwice = Seq(
    ("SELECT k, y FROM a", "y", "k"),
    ("SELECT g, x FROM t WHERE k > 0", "x", "g"),
    (s"SELECT t.x, u.g AS h $Path", "x", "h"),
    ("SELECT x, MAX(g) AS m FROM t GROUP BY x", "x", "m"),
    ("SELECT g, x FROM t UNION ALL SELECT k, y FROM a", "x", "g")
  )

  private def sampled(query: String, size: Int): String = s"SELECT * FROM sample(TABLE($query), $size, 7)"
}
