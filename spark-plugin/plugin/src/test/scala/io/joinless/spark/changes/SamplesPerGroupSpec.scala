package io.joinless.spark.changes

import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.{Gate, SharedSpark}
import io.joinless.spark.api._
import io.joinless.spark.batches.PlayedQuery
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.plans.nodes.JoinFreeJoin
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.joinless.Plans
import org.scalatest.funsuite.AnyFunSuite

/** Samples that are kept of each group of a query's result: after every batch they are a part of
  * the result, and have as many rows of each group as they should. The law is tested on the engine
  * (`engine.sample.SampleSpec`).
  */
class SamplesPerGroupSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {
  import SamplesPerGroupSpec._

  for ((sample, i) <- samples.zipWithIndex; cells <- if (!Gate.isShort && i % 3 == 0) Seq(1, 3) else Seq(1 + i % 3))
    test(s"after every batch the samples of $cells cells are parts of the groups by ${sample.by} of ${sample.query}") {
      val confs = Seq(
        "spark.sql.shuffle.partitions" -> s"${math.max(2, cells)}",
        "spark.joinless.placement.maxCells" -> (if (cells == 1) "0" else s"$cells")
      )
      withConf(confs: _*) {
        val size = Seq(1, 2, 5)(i % 3)
        new Tables().streams()
        assert(sampledRelations(sample.sql(size)) == sample.relations, "relations of the block that is sampled")
        val seed = Seeds.of(sample.sql(size)) + cells
        // a stream may cut the rows into other batches, and so have another sample
        if (i == 0) { val _ = play(sample, size, seed, streaming = true) }
        val one = play(sample, size, seed, streaming = false)
        if (!Gate.isShort || i % 3 == 0)
          assert(play(sample, size, seed, streaming = false) == one, s"seed $seed: the same batches again")
      }
    }

  /** The relations of the block that is sampled. */
  private def sampledRelations(sql: String): Int =
    DeltaCompilation(spark, Plans.analyzed(spark.sql(sql).incrementalEnumerate())).collect {
      case join: JoinFreeJoin if join.shape.sample.isDefined => join.shape.relations.size
    }.sum

  /** Plays five batches with restarts in between; returns the sample after each. */
  private def play(sample: Sample, size: Int, seed: Long, streaming: Boolean): Seq[Map[Seq[Any], Long]] = {
    val rng = new Random(seed)
    val tables = new Tables
    val way = if (streaming) PlayedQuery.AsStream else PlayedQuery.AsBatches(Some(seed))
    tables.start(sample.sql(size), "weight", way)
    try
      for (batch <- 0 until 5) yield {
        if (batch == 2 || batch == 4) tables.restart()
        tables.random(rng)
        tables.advance()
        if (tables.begun) {
          val (all, kept) = (tables.expected(sample.query), tables.result)
          val where = s"seed $seed, batch $batch"
          assert(kept.forall { case (row, copies) => copies <= all.getOrElse(row, 0L) }, s"$where: $kept of $all")
          val sizes = sample.sizes(all).map { case (group, n) => group -> math.min(n, size.toLong) }
          assert(sample.sizes(kept) == sizes, s"$where: $kept of $all")
          if (batch == 4) assert(tables.full(sample.sql(size)) == kept, where)
        }
        tables.result
      }
    finally tables.stop()
  }

  test("another size, seed or column is another sample, which is refused at a restart") {
    val Sample(query, by, _, _, _) = samples.head
    val changed = Seq(
      s"sample(TABLE($query), 2, 7)" -> "a sample of 2 results with",
      s"sample(TABLE($query), 2, 7, x)" -> "a sample of 2 results of each t.x",
      s"sample(TABLE($query), 3, 7, $by)" -> "a sample of 3 results of each t.g"
    )
    withConf("spark.joinless.placement.maxCells" -> "0") {
      for ((sample, is) <- changed) {
        val message = refusal(s"sample(TABLE($query), 2, 7, $by)", sample)
        assert(message.contains("a sample of 2 results of each t.g with the seed 7"), message)
        assert(message.contains(is), message)
      }
    }
  }

  test("groups by a join key instead of one sample of all are refused at a restart, and so is the reverse") {
    val query = samples(1).query
    val both = Seq(s"sample(TABLE($query), 2, 7)", s"sample(TABLE($query), 2, 7, k)")
    withConf("spark.joinless.placement.maxCells" -> "0") {
      for (Seq(was, is) <- Seq(both, both.reverse)) {
        val message = refusal(was, is)
        assert(message.contains("a sample of 2 results of each"), message)
      }
    }
  }

  /** Why the state of one sample is refused by another. */
  private def refusal(was: String, is: String): String = {
    val tables = new Tables
    tables.start(s"SELECT * FROM $was", "weight", PlayedQuery.AsBatches(None))
    try {
      tables.insert(1, 1, 5L, 0.5)
      tables.insertPair(1, 2)
      tables.append(2, 3)
      tables.advance()
      intercept[Exception](tables.full(s"SELECT * FROM $is")).getMessage
    } finally tables.stop()
  }

  for (cells <- Seq(1, 3))
    test(s"groups appear, empty and appear again in $cells cells, in one batch and across restarts; NULL is one") {
      val query = "SELECT t.g, t.x FROM t JOIN u ON t.k = u.k"
      val tables = new Tables
      def insert(g: Integer, rows: Int): Unit =
        for (x <- 0 until rows) tables.insert(x % 3, g, x.toLong, 0.5)
      def deleteAll(): Unit = while (tables.size > 0) tables.delete(0)

      /** The number of rows of each group in the sample, which is a part of the result. */
      def sizes(): Map[String, Long] = {
        tables.advance()
        val (all, kept) = (tables.expected(query), tables.result)
        assert(kept.forall { case (row, copies) => copies <= all.getOrElse(row, 0L) }, s"$kept of $all")
        kept.groupMapReduce { case (row, _) => s"${row.head}" }(_._2)(_ + _)
      }
      withConf(
        "spark.sql.shuffle.partitions" -> s"$cells",
        "spark.joinless.placement.maxCells" -> (if (cells == 1) "0" else s"$cells")
      ) {
        tables.start(s"SELECT * FROM sample(TABLE($query), 4, 7, g)", "weight", PlayedQuery.AsBatches(None))
        try {
          for (k <- 0 until 3) tables.insertPair(k, 0)
          insert(1, rows = 9)
          insert(null, rows = 7)
          assert(sizes() == Map("1" -> 4L, "null" -> 4L))
          deleteAll()
          insert(2, rows = 3) // the others are gone in the same batch
          assert(sizes() == Map("2" -> 3L))
          tables.restart()
          insert(1, rows = 5)
          assert(sizes() == Map("1" -> 4L, "2" -> 3L))
          deleteAll()
          insert(null, rows = 2)
          insert(1, rows = 6) // deleted and there again in one batch
          assert(sizes() == Map("1" -> 4L, "null" -> 2L))
          deleteAll()
          assert(sizes().isEmpty)
          tables.restart()
          insert(2, rows = 8)
          insert(null, rows = 1)
          assert(sizes() == Map("2" -> 4L, "null" -> 1L))
          for (_ <- 0 until 3) tables.deletePair(0) // no row of a group is deleted, and all results are
          assert(sizes().isEmpty)
          for (k <- 0 until 3) tables.insertPair(k, 1)
          assert(sizes() == Map("2" -> 4L, "null" -> 1L))
        } finally tables.stop()
      }
    }

  test("columns by which rows cannot be grouped are refused") {
    new Tables().streams()
    val rows = "SELECT k, g, g AS h, x AS h, MAP(k, g) AS m, PARSE_JSON(STRING(k)) AS v FROM t"
    val bad = Seq(
      Seq("z") -> "COLUMN_NOT_FOUND",
      Seq("h") -> "COLUMN_AMBIGUOUS",
      Seq("k", "g", "K") -> "COLUMN_TWICE",
      Seq("m") -> "COLUMN_TYPE",
      Seq("v") -> "COLUMN_TYPE"
    )
    for ((by, condition) <- bad) {
      val refused =
        intercept[AnalysisException](spark.sql(s"SELECT * FROM sample(TABLE($rows), 2, 7, ${by.mkString(", ")})"))
      assert(refused.getCondition == s"JOINLESS_SAMPLE.$condition")
    }
    val none = intercept[AnalysisException](Changes.sample(spark.sql(rows), 2, 7, Some(Nil)))
    assert(none.getCondition == "JOINLESS_SAMPLE.NO_COLUMNS")
  }
}

private object SamplesPerGroupSpec {
  private val Path = "FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k"

  /** @param by the columns by which rows are grouped
    * @param at where these are in the rows
    * @param relations of the block that is sampled: 1 where the rows are stored
    * @param key the values that are equal to one in Spark, and differ in Scala, have one key
    */
  final case class Sample(query: String, by: String, at: Seq[Int], relations: Int, key: Any => Any = identity) {
    def sql(size: Int): String = s"SELECT * FROM sample(TABLE($query), $size, 7, $by)"

    /** The number of rows of each group. */
    def sizes(rows: Map[Seq[Any], Long]): Map[Seq[Any], Long] =
      rows.groupMapReduce { case (row, _) => at.map(i => key(row(i))) }(_._2)(_ + _)
  }

  private val samples = Seq(
    // a column of one relation, where NULL is a group
    Sample(s"SELECT t.g, t.x, u.g AS h, a.y $Path", "g", Seq(0), 3),
    // a join key
    Sample(s"SELECT t.k, a.y $Path", "k", Seq(0), 3),
    // a join key and a column of one relation
    Sample(s"SELECT a.y, t.x, u.g AS h $Path", "h, y", Seq(2, 0), 3),
    // columns of two relations: rows are stored
    Sample(s"SELECT t.g, t.x, a.y $Path", "g, y", Seq(0, 2), 1),
    // computed of one relation, and of two
    Sample(s"SELECT t.x, COALESCE(t.g, 7) AS c, a.y $Path WHERE t.g < a.y OR t.x > 0", "c", Seq(1), 3),
    Sample(s"SELECT CONCAT(STRING(t.g), STRING(a.y)) AS c, t.x $Path", "c", Seq(0), 1),
    // a number whose zeros and NaNs are equal
    Sample(
      "SELECT IF(t.d > 1, (t.d - 3) * 1E308 * 1E10 * 0, t.d * 0) AS z, t.x, u.g FROM t JOIN u ON t.k = u.k",
      "z",
      Seq(0),
      2
    ),
    // what is equal in all rows divides none of them
    Sample(s"SELECT t.x, a.y, 5 AS five, u.g AS h $Path", "five", Seq(2), 3),
    Sample(s"SELECT t.x, a.y, 5 AS five, u.g AS h $Path", "five, h", Seq(3), 3),
    // a collated string, whose equal values differ
    Sample(
      s"SELECT COLLATE(IF(t.x > 5, 'a', 'A'), 'UTF8_LCASE') AS c, t.x, a.y $Path",
      "c",
      Seq(0),
      3,
      { case text: String => text.toLowerCase; case other => other }
    ),
    Sample(s"SELECT t.x, t.g, a.y $Path WHERE t.g = 1", "g", Seq(1), 3),
    // one relation, and no join
    Sample("SELECT k, y FROM a", "k", Seq(0), 1),
    // a cross product
    Sample("SELECT t.g, u.g AS h FROM t, u", "g", Seq(0), 2),
    Sample("SELECT t.x, u.g FROM t LEFT JOIN u ON t.k = u.k", "g", Seq(1), 2),
    Sample("SELECT t.g, COUNT(*) AS n FROM t GROUP BY t.g", "n", Seq(1), 1),
    Sample("SELECT k, g FROM t UNION ALL SELECT k, y FROM a", "k", Seq(0), 1),
    // a cycle of conditions
    Sample(
      "SELECT p.k, q.y, r.y AS z FROM a p JOIN a q ON p.y = q.k JOIN a r ON q.y = r.k AND r.y = p.k",
      "k",
      Seq(0),
      3
    )
  )
}
