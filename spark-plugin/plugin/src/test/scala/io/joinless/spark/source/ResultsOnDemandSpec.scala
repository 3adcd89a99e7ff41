package io.joinless.spark.source

import scala.util.Random

import io.joinless.engine.sample.Chances
import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.funsuite.AnyFunSuite

/** Counts, pages and samples of complete results, against the enumeration: of a running query, and
  * of its checkpoint when it has ended.
  */
class ResultsOnDemandSpec extends AnyFunSuite with SharedSpark {
  import ResultsOnDemandSpec._

  private val from = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val plain = s"SELECT a.src, b.src AS via, b.dst, c.dst AS last $from"
  private val residual = s"$plain WHERE a.src + b.dst <> c.dst + 1"

  /** A query over random edges, in some batches. */
  final private class Played(sql: String, changes: Boolean, cells: Int, vertices: Int = 7) {
    private val edges = PlayedStream.of[Edge](spark)(org.apache.spark.sql.Encoders.product[Edge])
    private def query = {
      val stream = edges.toDF
      (if (changes) stream.weightedChangelog("n") else stream.drop("n")).createOrReplaceTempView("e")
      spark.sql(sql)
    }
    private def asRun = if (changes) query.incrementalEnumerate("weight") else query
    private val random = new Random(cells)
    private val played = withConf("spark.sql.shuffle.partitions" -> cells.toString) {
      new PlayedQuery(Seq(edges), PlayedQuery.AsBatches())(asRun)
    }
    private var kept = Seq.empty[Edge]
    (1 to 3).foreach(_ => advance())

    def advance(): Unit = {
      val added = Seq.fill(12)(Edge(random.nextInt(vertices), random.nextInt(vertices), 1 + random.nextInt(2)))
      edges.add(added: _*)
      if (changes) edges.add(kept.take(3).map(_.copy(n = -1)): _*)
      kept = added
      val _ = played.next()
    }
    def close(): Unit = played.close()

    def full: DataFrame = query.enumerateFull(played.checkpoint)
    def recorded: DataFrame = spark.read.format("joinless").load(played.checkpoint)
    def checkpoint: String = played.checkpoint
  }

  private def rows(df: DataFrame): Seq[Row] = df.collect().toSeq

  private def bag(rows: Seq[Row]): Map[Row, Int] = rows.groupMapReduce(identity)(_ => 1)(_ + _)

  private def scans(df: DataFrame): String = df.queryExecution.executedPlan.collectLeaves().mkString("\n")

  private def condition(body: => Any): String = {
    val error = intercept[Exception](body)
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).collectFirst {
      case e: SparkThrowable if e.getCondition.startsWith("JOINLESS") => e.getCondition
    }.getOrElse(throw error)
  }

  for {
    (kind, sql) <- Seq("" -> plain, " with a residual" -> residual)
    changes <- Seq(false, true)
    cells <- if (changes) Seq(4, 1) else Seq(1, 3)
  } test(s"oracle_ count and pages: $cells cells, ${if (changes) "changes" else "appended"}$kind") {
    val query = new Played(sql, changes, cells)
    def pages(df: DataFrame): Seq[Row] = {
      val whole = bag(rows(df))
      val n = whole.values.sum
      assert(n > 100)
      assert(df.count() == n)
      assert(df.exactCount == n)
      assert(df.where("src = 3").exactCount == df.where("src = 3").collect().length)
      val size = n / 5
      val paged = (0 to 5).flatMap(i => rows(df.offset(i * size).limit(size)))
      assert(paged.size == n && bag(paged) == whole)
      assert(rows(df.offset(size).limit(7)) == paged.slice(size, size + 7))
      assert(rows(df.limit(size + 9).offset(size)) == paged.slice(size, size + 9))
      assert(rows(df.limit(4)) == paged.take(4))
      assert(rows(df.offset(n - 3)) == paged.drop(n - 3))
      assert(rows(df.page(2 * size, 9)) == paged.slice(2 * size, 2 * size + 9))
      assert(rows(df.page(BigInt(10).pow(30), 9)).isEmpty && rows(df.limit(0)).isEmpty && rows(df.page(0, 0)).isEmpty)
      assert(df.page(n - 2, 9).count() == 2)
      assert(rows(df.offset(size).limit(7).select("last")) == paged.slice(size, size + 7).map(row => Row(row.get(3))))
      paged
    }
    val running = pages(query.full)
    query.close()
    assert(pages(query.full) == running, "the order of the ended query")
    assert(pages(query.recorded) == running, "the order of the checkpoint alone")
  }

  test("plan_ what the scan takes of a query") {
    val query = new Played(plain, changes = true, cells = 3)
    query.full.createOrReplaceTempView("r")
    def text(sql: String): String = scans(spark.sql(sql))
    assert(text("SELECT COUNT(*), COUNT(1), COUNT(*) + 1 FROM r WHERE src > 2").contains("joinless count of"))
    assert(text("SELECT * FROM r LIMIT 3 OFFSET 5").contains("joinless rows from 5 to 8 of"))
    assert(text("SELECT * FROM r OFFSET 5").contains("joinless rows from 5 to the end of"))
    assert(text("SELECT * FROM r WHERE src = 1 LIMIT 3").contains("joinless rows from 0 to 3 of"))
    assert(
      text("SELECT * FROM r TABLESAMPLE (30 PERCENT) REPEATABLE (4)").contains("sample with the fraction 0.3, seed 4")
    )
    // the rest is Spark's
    for (
      sql <- Seq(
        "SELECT COUNT(*) FROM r WHERE src < last",
        "SELECT COUNT(src) FROM r",
        "SELECT COUNT(DISTINCT src) FROM r",
        "SELECT src, COUNT(*) FROM r GROUP BY src",
        "SELECT COUNT(*), MAX(src) FROM r",
        "SELECT * FROM r WHERE src < last LIMIT 3 OFFSET 5",
        "SELECT * FROM r ORDER BY src LIMIT 3 OFFSET 5"
      )
    ) assert(text(sql).contains("joinless full enumeration of"), sql)
    assert(text("SELECT COUNT(*) FROM r TABLESAMPLE (30 PERCENT)").contains("sample with the fraction 0.3"))
    assert(text("SELECT * FROM r TABLESAMPLE (30 PERCENT) LIMIT 2").contains("sample with the fraction 0.3"))
    val split = query.full.randomSplit(Array(0.4, 0.6), 3)
    assert(bag(split.toSeq.flatMap(rows)) == bag(rows(query.full)))
    query.close()
  }

  for ((kind, sql) <- Seq("" -> plain, " with a residual" -> residual))
    test(s"law_ samples by a fraction and of a size, with replacement and without$kind") {
      val query = new Played(sql, changes = true, cells = 3, vertices = 5)
      val copies = bag(rows(query.full))
      val (n, distinct) = (copies.values.sum, copies.size)
      val trials = 40

      /** Whether rows come in proportion to their copies, in samples that have `mean` rows. */
      def check(what: String, samples: Seq[Seq[Row]], mean: Double, spread: Double): Unit = {
        val counts = bag(samples.flatten)
        assert(counts.keySet.subsetOf(copies.keySet), what)
        val x = copies.map { case (row, c) =>
          val expected = trials * mean * c / n
          math.pow(counts.getOrElse(row, 0) - expected, 2) / (expected * spread)
        }.sum
        val _ = assert(Chances.chiSquare(x, distinct - 1) > 1e-4, s"$what: $x of $distinct rows")
      }
      val size = n / 4
      for (replacement <- Seq(false, true)) {
        val name = s"replacement $replacement"
        val spread = if (replacement) 1.0 else 0.75
        val drawn = (1 to trials).map(seed => rows(query.full.sampleOf(size, seed.toLong, replacement)))
        assert(drawn.forall(_.size == size))
        check(s"of a size, $name", drawn, size.toDouble, spread)
        if (!replacement)
          assert(drawn.forall(sample => bag(sample).forall { case (row, c) => c <= copies(row) }))
        val thinned = (1 to trials).map(seed => rows(query.full.sample(replacement, 0.25, seed.toLong)))
        check(s"by a fraction, $name", thinned, n / 4.0, spread)
        assert(math.abs(thinned.map(_.size).sum - trials * n / 4.0) < 4 * math.sqrt(trials * n * spread / 4.0))
        // the same seed, the same rows: also when the query has ended
        assert(rows(query.full.sampleOf(size, 1, replacement)) == drawn.head)
        assert(rows(query.full.sample(replacement, 0.25, 1)) == thinned.head)
        if (replacement) {
          query.close()
          assert(rows(query.full.sampleOf(size, 1, replacement)) == drawn.head)
          assert(rows(query.recorded.sample(replacement, 0.25, 1)) == thinned.head)
        }
      }
      assert(bag(rows(query.full.sampleOf(n + 5, 3))) == copies)
      assert(bag(rows(query.full.sample(1.0))) == copies && rows(query.full.sample(0.0)).isEmpty)
      assert(rows(query.full.sampleOf(3 * n, 3, replacement = true)).size == 3 * n)
    }

  test("conditions that the scan does not take, computed columns, empty results") {
    val query = new Played(plain, changes = true, cells = 3)
    val some = query.full.where("src < last AND via > 2").selectExpr("src + last AS s", "dst")
    val expected = rows(some)
    assert(some.exactCount == expected.size)
    assert(bag(rows(some.sampleOf(10000, 5))) == bag(expected))
    assert(rows(some.sampleOf(5, 5)).forall(expected.contains) && rows(some.sampleOf(5, 5)).size == 5)
    val paged = (0 to expected.size / 9).flatMap(i => rows(some.page(9 * i, 9)))
    assert(bag(paged) == bag(expected))
    val none = query.full.where("src + last = -1")
    for (replacement <- Seq(false, true)) assert(rows(none.sampleOf(5, 5, replacement)).isEmpty)
    assert(none.exactCount == 0 && rows(none.page(3, 4)).isEmpty)
    val apart = query.full.where("src = 1").union(query.full.where("src = 2"))
    assert(apart.exactCount == apart.collect().length)
    assert(query.full.groupBy("src").count().exactCount == query.full.select("src").distinct().count())
    query.close()
  }

  test("what is no complete result, and sizes that make no sense") {
    val query = new Played(plain, changes = true, cells = 1)
    def refused(body: => Any): String = condition(body).stripPrefix("JOINLESS_ON_DEMAND.")
    for (
      df <- Seq(spark.range(5).toDF(), query.full.groupBy("src").count(), query.full.limit(3), query.full.distinct())
    )
      assert(refused(df.sampleOf(3, 1)) == "NO_RESULT" && refused(df.page(3, 1)) == "NO_RESULT")
    for (size <- Seq(0, -1, Int.MaxValue)) assert(refused(query.full.sampleOf(size, 1)) == "SAMPLE_SIZE")
    assert(refused(query.full.page(-1, 1)) == "OFFSET" && refused(query.full.page(1, -1)) == "PAGE_SIZE")
    val stream = PlayedStream.of[Edge](spark)(org.apache.spark.sql.Encoders.product[Edge]).toDF
    assert(refused(stream.sampleOf(3, 1)) == "STREAM" && refused(stream.exactCount) == "STREAM")
    query.close()
  }

  test("numbers beyond 64 bits, and beyond 127") {
    def star(arms: Int) = {
      val list = (1 to arms).map(i => s"e r$i").mkString(", ")
      s"SELECT r1.dst AS x, r2.dst AS y FROM $list WHERE ${(2 to arms).map(i => s"r1.src = r$i.src").mkString(" AND ")}"
    }
    def counted(arms: Int): DataFrame = {
      val edges = PlayedStream.of[Edge](spark)(org.apache.spark.sql.Encoders.product[Edge])
      edges.toDF.createOrReplaceTempView("e")
      def query = spark.sql(star(arms))
      // while it runs, a condition rejects all results
      val played = new PlayedQuery(Seq(edges), PlayedQuery.AsBatches())(query.where("x < y"))
      edges.add(Seq.fill(50)(Edge(1, 2, 1)): _*)
      played.next()
      played.close()
      query.enumerateFull(played.checkpoint)
    }
    val much = counted(20)
    assert(much.exactCount == BigInt(50).pow(20))
    assert(condition(much.count()) == "JOINLESS_COUNT_OVERFLOW.BIGINT")
    assert(rows(much.page(BigInt(50).pow(20) - 2, 5)) == Seq(Row(2, 2), Row(2, 2)))
    assert(rows(much.sampleOf(3, 5)) == Seq.fill(3)(Row(2, 2)))
    assert(rows(much.sample(withReplacement = false, 1e-33, 5)).size < 40)
    val tooMuch = counted(23)
    assert(condition(tooMuch.exactCount) == "JOINLESS_COUNT_OVERFLOW.ROWS")
    assert(condition(tooMuch.count()) == "JOINLESS_COUNT_OVERFLOW.ROWS")
    assert(condition(rows(tooMuch.page(0, 3))) == "JOINLESS_COUNT_OVERFLOW.ROWS")
  }
}

object ResultsOnDemandSpec {
  final case class Edge(src: Int, dst: Int, n: Int)
}
