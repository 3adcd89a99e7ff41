package io.joinless.spark.source

import scala.util.Random

import io.joinless.engine.sample.Chances
import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
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
    (changes, cells) <- if (sql == plain) Seq(false -> 1, true -> 4) else Seq(false -> 3, true -> 1)
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

  private def factoryOf(full: DataFrame, reading: Reading): ResultReaderFactory = {
    val scan = full.queryExecution.optimizedPlan.collectFirst {
      case relation: DataSourceV2ScanRelation => relation.scan.asInstanceOf[ResultScan]
    }.get
    scan.copy(reading = reading).createReaderFactory().asInstanceOf[ResultReaderFactory]
  }

  /** The readers of three cells. */
  private def readers(full: DataFrame, reading: Reading): Seq[PartitionReader[InternalRow]] = {
    val factory = factoryOf(full, reading)
    (0 until 3).map(cell => factory.createReader(CellPartition(cell)))
  }

  private def read(reader: PartitionReader[InternalRow]): Seq[InternalRow] =
    try Iterator.continually(reader).takeWhile(_.next()).map(_.get().copy()).toList
    finally reader.close()

  private def smallest(cells: Seq[PartitionReader[InternalRow]], size: Int): Seq[Row] =
    cells.flatMap(read).sortBy(_.getDouble(4)).take(size).map(shown)

  private def shown(row: InternalRow): Row = Row(row.getInt(0), row.getInt(1), row.getInt(2), row.getInt(3))

  /** Whether rows come in proportion to their copies, in samples that have `mean` rows.
    *
    * @param spread the variance of a count, divided by its mean
    */
  private def checkLaw(copies: Map[Row, Int], samples: Seq[Seq[Row]], mean: Double, spread: Double): Unit = {
    val counts = bag(samples.flatten)
    assert(counts.keySet.subsetOf(copies.keySet))
    val x = copies.map { case (row, c) =>
      val expected = samples.size * mean * c / copies.values.sum
      math.pow(counts.getOrElse(row, 0) - expected, 2) / (expected * spread)
    }.sum
    val _ = assert(Chances.chiSquare(x, copies.size - 1) > 1e-4, s"$x of ${copies.size} rows")
  }

  for ((kind, sql) <- Seq("" -> plain, " with a residual" -> residual))
    test(s"law_ samples by a fraction and of a size, with replacement and without$kind") {
      val query = new Played(sql, changes = true, cells = 3, vertices = 5)
      val full = query.full
      val copies = bag(rows(full))
      val n = copies.values.sum
      val (trials, size) = (60, n / 4)
      val seen = for (replacement <- Seq(false, true)) yield {
        val spread = if (replacement) 1.0 else 0.75
        val drawn = (1 to trials).map { seed =>
          smallest(readers(full, Reading.Drawn(size, replacement, seed.toLong)), size)
        }
        assert(drawn.forall(_.size == size))
        checkLaw(copies, drawn, size.toDouble, spread)
        if (!replacement)
          assert(drawn.forall(sample => bag(sample).forall { case (row, c) => c <= copies(row) }))
        val thinned = (1 to trials).map { seed =>
          readers(full, Reading.Thinned(0.25, replacement, seed.toLong)).flatMap(read).map(shown)
        }
        checkLaw(copies, thinned, n / 4.0, spread)
        assert(math.abs(thinned.map(_.size).sum - trials * n / 4.0) < 4 * math.sqrt(trials * n * spread / 4.0))
        // Spark merges the same
        assert(rows(full.sampleOf(size, 1, replacement)) == drawn.head)
        assert(rows(full.sample(replacement, 0.25, 1)) == thinned.head)
        (replacement, drawn.head, thinned.head)
      }
      assert(bag(rows(full.sampleOf(n + 5, 3))) == copies)
      assert(bag(rows(full.sample(1.0))) == copies && rows(full.sample(0.0)).isEmpty)
      assert(rows(full.sampleOf(3 * n, 3, replacement = true)).size == 3 * n)
      // the same seed, the same rows: also when the query has ended
      query.close()
      for ((replacement, drawn, thinned) <- seen; again <- Seq(full, query.recorded)) {
        assert(rows(again.sampleOf(size, 1, replacement)) == drawn)
        assert(rows(again.sample(replacement, 0.25, 1)) == thinned)
      }
    }

  for (replacement <- Seq(false, true))
    test(s"law_ where nearly all is rejected, a walk goes on with what was drawn: replacement $replacement") {
      val query = new Played(residual, changes = true, cells = 3, vertices = 4)
      val full = query.full
      val copies = bag(rows(full))
      val (trials, size) = (150, 20)

      /** A sample, of which cells draw different parts before they walk. */
      def sample(seed: Int): Seq[Row] = {
        val drawn = Reading.Drawn(size, replacement, seed.toLong)
        val read = factoryOf(full, drawn).cells
        val cells = (0 until 3).map { cell =>
          new SiftingReader(read, cell, drawn, firstDraws = 8L * cell, mostDraws = 0L, chunk = 8L)
        }
        smallest(cells, size)
      }
      query.close()
      val samples = (1 to trials).map(sample)
      assert(samples.forall(_.size == size))
      val n = copies.values.sum.toDouble
      checkLaw(copies, samples, size.toDouble, if (replacement) 1.0 else (n - size) / (n - 1))
      if (!replacement) assert(samples.forall(s => bag(s).forall { case (row, c) => c <= copies(row) }))
    }

  test("law_ samples by a fraction of rows that satisfy conditions are drawn by the scan") {
    val query = new Played(plain, changes = true, cells = 3, vertices = 5)
    for (
      condition <- Seq("src = 3", "src < last", "via > 1 AND src + dst < last + 3"); replacement <- Seq(false, true)
    ) {
      val some = query.full.where(condition).selectExpr("last + 1 AS l", "src")
      val copies = bag(rows(some))
      val samples = (1 to 60).map { seed =>
        val sample = some.sample(replacement, 0.25, seed.toLong)
        if (seed == 1) assert(scans(sample).contains("joinless sample with the fraction 0.25"))
        rows(sample)
      }
      checkLaw(copies, samples, copies.values.sum / 4.0, if (replacement) 1.0 else 0.75)
    }
    val split = query.full.where("src < last").randomSplit(Array(0.4, 0.6), 3)
    assert(bag(split.toSeq.flatMap(rows)) == bag(rows(query.full.where("src < last"))))
    query.close()
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

  test("where nearly all combinations are rejected, rows are enumerated") {
    val edges = PlayedStream.of[Edge](spark)(org.apache.spark.sql.Encoders.product[Edge])
    edges.toDF.weightedChangelog("n").createOrReplaceTempView("e")
    val query = spark.sql("SELECT a.src, a.dst AS x, b.dst AS y, c.dst AS z FROM e a JOIN e b ON a.src = b.src " +
      "JOIN e c ON b.src = c.src WHERE a.dst + b.dst + c.dst < 9")
    val played = new PlayedQuery(Seq(edges), PlayedQuery.AsBatches())(query.incrementalEnumerate("weight"))
    edges.add((for (src <- 1 to 2; dst <- 1 to 60) yield Edge(src, dst, 1 + dst % 2)): _*)
    played.next()
    played.close()
    val full = query.enumerateFull(played.checkpoint)
    val copies = bag(rows(full))
    val n = copies.values.sum
    assert(n > 200 && n < 2 * 60 * 60 * 60 / 256)
    val paged = (0 to n / 100).flatMap(i => rows(full.offset(100 * i).limit(100)))
    assert(bag(paged) == copies && rows(full.page(77, 9)) == paged.slice(77, 86))
    assert(full.exactCount == n && full.count() == n)
    for (replacement <- Seq(false, true)) {
      val samples = (1 to 6).map(seed => rows(full.sample(replacement, 0.3, seed.toLong)))
      checkLaw(copies, samples, 0.3 * n, if (replacement) 1.0 else 0.7)
      assert(rows(full.sample(replacement, 0.3, 1)) == samples.head)
      assert(rows(full.sampleOf(50, 1, replacement)).size == 50)
    }
    assert(bag(rows(full.sampleOf(n, 1))) == copies)
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

  test("numbers beyond 64 bits, and beyond 127")(withConf("spark.joinless.maxRelations" -> "23") {
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
    for (some <- Seq(much, much.where("x = 2"), much.where("x + y = 4")))
      assert(rows(some.sample(withReplacement = false, 1e-33, 5)).size < 40)
    val tooMuch = counted(23)
    assert(condition(tooMuch.exactCount) == "JOINLESS_COUNT_OVERFLOW.ROWS")
    assert(condition(tooMuch.count()) == "JOINLESS_COUNT_OVERFLOW.ROWS")
    assert(condition(rows(tooMuch.page(0, 3))) == "JOINLESS_COUNT_OVERFLOW.ROWS")
  })

  test("a running query's trees are read where they are: without its log") {
    val query = new Played(plain, changes = true, cells = 3)
    def read(df: DataFrame) =
      (df.count(), df.exactCount, rows(df.offset(11).limit(5)), rows(df.sampleOf(9, 4)), rows(df.sample(0.2, 4)))
    val full = query.full
    val before = read(full)
    val state = java.nio.file.Paths.get(query.checkpoint, "state")
    java.nio.file.Files.move(state, state.resolveSibling("hidden"))
    // nothing else says what the rows are
    assert(condition(full.collect()).startsWith("JOINLESS_"))
    val again = full.select("*") // knows no numbers of rows
    assert(read(again) == before)
    // under a condition, other rows join
    assert(condition(full.where("src > 3").count()).startsWith("JOINLESS_"))
    org.apache.commons.io.FileUtils.deleteDirectory(state.toFile) // attempts to open stores made folders
    java.nio.file.Files.move(state.resolveSibling("hidden"), state)
    query.advance()
    assert(read(full) == before, "the batch that was asked for, from its log")
    assert(read(query.full)._1 != before._1)
    query.close()
  }

  test("a query goes on under readers, and they see what the batch of each has") {
    val query = new Played(plain, changes = true, cells = 3)
    val batches = 8
    val done = new java.util.concurrent.atomic.AtomicBoolean
    val pool = java.util.concurrent.Executors.newFixedThreadPool(2)
    try {
      val readers = (1 to 2).map { i =>
        pool.submit { () =>
          val seen = scala.collection.mutable.ArrayBuffer.empty[(DataFrame, Long, Seq[Row], Seq[Row])]
          while (!done.get || seen.size < 2) {
            val full = query.full
            seen += ((full, full.count(), rows(full.offset(10 * i).limit(8)), rows(full.sampleOf(6, i.toLong))))
          }
          seen
        }
      }
      val started = System.nanoTime
      (1 to batches).foreach(_ => query.advance())
      done.set(true)
      assert(System.nanoTime - started < batches * 4e9)
      // the same of each batch's log, when nobody changes anything any more
      val seen = readers.flatMap(_.get)
      query.close()
      for ((full, count, page, sample) <- scala.util.Random.shuffle(seen).take(6)) {
        val i = if (page.isEmpty) 1 else readers.indexWhere(_.get.exists(_._1 eq full)) + 1
        assert(full.collect().length == count)
        assert(rows(full.offset(10 * i).limit(8)) == page && rows(full.sampleOf(6, i.toLong)) == sample)
      }
    } finally { done.set(true); pool.shutdown() }
  }
}

object ResultsOnDemandSpec {
  final case class Edge(src: Int, dst: Int, n: Int)
}
