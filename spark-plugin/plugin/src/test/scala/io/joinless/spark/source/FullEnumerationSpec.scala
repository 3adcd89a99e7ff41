package io.joinless.spark.source

import io.joinless.spark.EdgeFiles
import org.scalatest.funsuite.AnyFunSuite

/** The result of a stopped query, read from its checkpoint, against batch SQL over the files. */
class FullEnumerationSpec extends AnyFunSuite with StoredResults {

  private val state = "org.apache.spark.sql.execution.streaming.state"
  private val rocksdb = Seq(
    "spark.sql.streaming.stateStore.providerClass" -> s"$state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true"
  )
  private val stores = Map(
    "hdfs" -> Nil,
    "rocksdb snapshots" -> rocksdb.take(1),
    "rocksdb" -> rocksdb,
    "rocksdb, unique ids" -> (rocksdb :+ "spark.sql.streaming.stateStore.checkpointFormatVersion" -> "2")
  )

  private val from = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val threeHops = s"SELECT a.src, b.src AS via, b.dst, c.dst AS last $from"

  for ((name, confs) <- stores; partitions <- Seq(1, 4, 6))
    test(
      s"oracle_ the result equals batch SQL, of a session without the query's settings: $name, $partitions partitions"
    ) {
      val files = new EdgeFiles(spark, "e")
      val expected = withConf(confs :+ "spark.sql.shuffle.partitions" -> partitions.toString: _*) {
        (1 to 3).map { i =>
          files.addRandom(i)
          run(files, threeHops)
          files.expected(threeHops)
        }
      }
      val now = read(spark.newSession(), files)
      assert(now.columns.toSeq == Seq("src", "via", "dst", "last"))
      assert(rows(now) == expected.last)
      assert(expected.last.nonEmpty)
      expected.zipWithIndex.foreach { case (then, batch) =>
        assert(rows(read(files, "batchId" -> batch.toString)) == then)
      }
    }

  private val queries: Seq[(String, String)] = Seq(
    "computed columns" -> s"SELECT a.src + c.dst AS total, concat('x', b.dst) AS text, 7 AS seven, a.src IS NULL AS n $from",
    "residuals" -> s"SELECT a.src, c.dst $from WHERE a.src < c.dst AND a.src + b.dst <> c.dst",
    "functions" -> (s"SELECT coalesce(a.src, -1) AS s, CASE WHEN a.src > c.dst THEN 'up' ELSE 'down' END AS d, " +
      s"CAST(c.dst AS STRING) AS t, date_add(DATE '2020-01-01', CAST(b.dst AS INT)) AS day $from " +
      s"WHERE a.src * 2 > c.dst OR c.dst IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)"),
    "the same name twice" -> s"SELECT a.src, c.src, b.dst AS SRC $from",
    "no column of two relations" -> s"SELECT b.dst $from"
  )

  for ((name, sql) <- queries)
    test(s"oracle_ what the query makes of the join is read back: $name") {
      val files = ran(sql)
      assert(rows(read(files)) == files.expected(sql))
      assert(rows(read(files)).nonEmpty)
    }

  test("names that come twice are numbered") {
    val files = ran(s"SELECT a.src, c.src, b.dst AS SRC $from", batches = 1)
    assert(read(files).columns.toSeq == Seq("src", "src_2", "SRC_3"))
  }

  test("oracle_ filters, projections, aggregates and joins on top") {
    val files = ran(s"SELECT a.src, b.src AS via, b.dst + 1 AS next, c.dst AS last $from")
    files.expected(s"SELECT 1") // the batch view
    def both(query: String): Unit = {
      read(files).createOrReplaceTempView("now")
      val actual = rows(spark.sql(query))
      val expected = rows(spark.sql(
        s"WITH now AS (SELECT a.src, b.src AS via, b.dst + 1 AS next, c.dst AS last $from) $query"
      ))
      val _ = assert(actual == expected, query)
    }
    both("SELECT last FROM now WHERE src = 3")
    both("SELECT * FROM now WHERE src > 3 AND next < 20 AND last <> src")
    both("SELECT src FROM now WHERE next IS NOT NULL OR last = 2")
    both("SELECT via FROM now WHERE NOT (src > 5 OR src IS NULL) AND last IN (1, 2, 3)")
    both("SELECT count(*) FROM now")
    both("SELECT src, count(*), sum(last) FROM now GROUP BY src")
    both("SELECT x.src, y.last FROM now x JOIN now y ON x.last = y.src WHERE x.src = 1 AND y.via = 2")
    both("SELECT count(*) FROM now WHERE last = (SELECT min(last) FROM now)")
    both("SELECT * FROM now ORDER BY 1, 2, 3, 4 LIMIT 5")
  }

  test("plan_ needed columns and conditions on one relation are the scan's work") {
    val files = ran(threeHops, batches = 1)
    val text = read(files).where("src > 3 AND last < src").select("dst").queryExecution.toString
    assert(text.contains("joinless full enumeration of a, b, c as of batch 0, 2 cells"), text)
    assert(text.contains("columns: [src, dst, last]"), text)
    assert(text.contains("a: (src > 3L)"), text)
    assert(!text.split("== Physical Plan ==").last.contains("Filter (src#"), text)
    assert(text.split("== Physical Plan ==").last.contains("Filter (last#"), text)
  }

  test("LIMIT on a result of 10^9 rows enumerates as many rows as it needs") {
    val files = new EdgeFiles(spark, "e")
    // since no rows satisfy the conditions on a and the others, no batch enumerates all
    // combinations
    val ranges = Seq(0, 1000, 2000)
    ranges.foreach(first => files.add((first until first + 1000).map(dst => (1, dst)): _*))
    val relations = Seq("c", "b", "a").zip(ranges).map { case (r, first) =>
      s"(SELECT * FROM e WHERE dst >= $first AND dst < ${first + 1000}) $r"
    }
    val sql = s"SELECT a.dst AS x, b.dst AS y, c.dst AS z FROM ${relations.mkString(", ")} " +
      "WHERE a.src = b.src AND b.src = c.src"
    run(files, s"$sql AND a.dst < b.dst AND a.dst < c.dst")
    files.add((2, 0)) // the next run drops the conditions
    run(files, sql)
    val few = read(files).limit(10)
    assert(few.collect().forall(r => r.getLong(0) >= 2000 && r.getLong(1) >= 1000 && r.getLong(2) < 1000))
    assert(few.count() == 10)
    val scans = few.queryExecution.executedPlan.collectLeaves().map(_.metrics("numOutputRows").value)
    assert(scans.sum <= 20, scans)
    assert(read(files).where("x = 2000 AND y = 1000 AND z < 5").count() == 5)
  }
}
