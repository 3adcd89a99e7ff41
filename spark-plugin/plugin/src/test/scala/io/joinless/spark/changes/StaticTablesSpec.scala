package io.joinless.spark.changes

import io.joinless.spark.api._
import io.joinless.spark.batches.PlayedQuery
import io.joinless.spark.{SharedSpark, TestFolders}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.{AnalysisException, DataFrame, Row}
import org.apache.spark.sql.streaming.StreamingQueryException
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

/** Static tables beside changelogs: their rows are read once, in the first batch, and stay over
  * restarts whatever becomes of the tables.
  */
class StaticTablesSpec extends AnyFunSuite with SharedSpark with QueriesOverChanges {

  private val folder = TestFolders.create("static").toString
  spark.sql("SELECT CAST(id AS INT) AS k, CONCAT('n', id) AS name, id % 3 AS g FROM range(4)")
    .write.parquet(s"$folder/s")
  spark.read.parquet(s"$folder/s").createOrReplaceTempView("s")
  table("k INT, y BIGINT", Row(0, 1L), Row(0, 7L), Row(2, null)).createOrReplaceTempView("r")

  /** A table of which Spark knows nothing but its columns. */
  private def table(columns: String, rows: Row*): DataFrame =
    spark.createDataFrame(spark.sparkContext.parallelize(rows, 1), StructType.fromDDL(columns))

  private val queries = Seq(
    "SELECT t.k, s.name FROM t JOIN s ON t.k = s.k",
    "SELECT t.k, s.name FROM t LEFT JOIN s ON t.k = s.k",
    "SELECT s.name, t.x FROM s LEFT JOIN t ON t.k = s.k",
    "SELECT s.name, t.x FROM s FULL JOIN t ON t.k = s.k",
    "SELECT s.name, COUNT(*) AS n, MAX(t.x) AS m FROM t JOIN s ON t.k = s.k JOIN u ON u.k = t.k GROUP BY s.name",
    "SELECT s.name, COUNT(t.x) AS n FROM s LEFT JOIN t ON t.k = s.k GROUP BY s.name",
    "SELECT k, x FROM t WHERE k IN (SELECT k FROM s WHERE g > 0)",
    "SELECT k, x FROM t WHERE k NOT IN (SELECT k FROM s WHERE g = 1)",
    "SELECT k, x FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.k = t.k AND s.g = t.g)",
    "SELECT k, x FROM t WHERE x > (SELECT AVG(y) FROM r)",
    "SELECT k, (SELECT COUNT(*) FROM s WHERE s.g = t.g) AS n FROM t",
    "SELECT k FROM t UNION ALL SELECT k FROM s UNION ALL SELECT k FROM r",
    "SELECT k, COUNT(*) AS n FROM (SELECT k FROM t UNION ALL SELECT k FROM s) GROUP BY k",
    "SELECT k FROM s EXCEPT SELECT k FROM t",
    "SELECT DISTINCT k FROM (SELECT k FROM u UNION ALL SELECT CAST(id AS INT) FROM range(3))",
    "SELECT r.y, s.name, t.x FROM r, s, t WHERE r.k = t.k AND s.k = t.k",
    "SELECT n.name, t.x FROM t JOIN (SELECT r.k, s.name FROM r JOIN s ON r.k = s.k) n ON n.k = t.k",
    "SELECT t.k, f.name FROM t JOIN (SELECT *, ROW_NUMBER() OVER (PARTITION BY g ORDER BY k DESC) AS i FROM s) f ON t.g = f.g WHERE f.i = 1",
    "SELECT a.y, s.name, t.x FROM a JOIN s ON a.k = s.k JOIN t ON t.k = a.k",
    "SELECT name, x FROM (SELECT s.name, t.x FROM t JOIN s ON t.k = s.k) ORDER BY x DESC, name LIMIT 3",
    "SELECT o.k, p.name, q.name AS other FROM t o JOIN s p ON o.k = p.k JOIN s q ON o.g = q.g",
    "SELECT s.g, AVG(n) AS n FROM s JOIN (SELECT k, COUNT(*) AS n FROM a GROUP BY k) c ON c.k = s.k GROUP BY s.g"
  )

  for ((sql, i) <- queries.zipWithIndex)
    test(sql)(checkCrossed(sql, i, streaming = true))

  private val named = "SELECT t.k, c.name FROM t JOIN c ON t.k = c.k"

  /** Makes `c` a table of one row. */
  private def write(name: String, asFiles: Boolean): Unit = {
    val rows = table("k INT, name STRING", Row(1, name))
    if (asFiles) {
      rows.write.mode("overwrite").parquet(s"$folder/c")
      spark.read.parquet(s"$folder/c").createOrReplaceTempView("c")
    } else rows.createOrReplaceTempView("c")
  }

  for (asFiles <- Seq(true, false)) {
    val what = if (asFiles) "files" else "rows"

    test(s"rows stay as the first batch has read them: $what") {
      write("old", asFiles)
      val tables = new Tables
      tables.start(named)
      try {
        tables.insert(1, 1, 1L, 1.0)
        tables.advance()
        write("new", asFiles)
        tables.restart()
        tables.insert(1, 2, 2L, 2.0)
        tables.advance()
        tables.delete(0)
        tables.advance()
      } finally tables.stop()
      assert(tables.result == Map(Seq[Any](1, "old") -> 1L))
      assert(tables.full(named) == tables.result)
    }

    test(s"a first batch that runs again has the same rows, or is refused: $what") {
      for (changed <- Seq(false, true)) {
        write("old", asFiles)
        val (tables, checkpoint) = (new Tables, PlayedQuery.newCheckpoint())
        tables.streams()
        tables.insert(1, 1, 1L, 1.0)
        tables.send()
        def run(use: DataFrame => Unit): Unit = {
          val query = spark.sql(named).incrementalEnumerate().writeStream.option("checkpointLocation", checkpoint)
            .foreachBatch((rows: DataFrame, _: Long) => use(rows)).start()
          try query.processAllAvailable()
          finally query.stop()
        }
        val failed = intercept[StreamingQueryException](run { rows =>
          val _ = rows.collect()
          throw new IllegalStateException("no space left")
        })
        assert(failed.getMessage.contains("no space left"))
        if (changed) {
          write("new", asFiles)
          val refused = intercept[StreamingQueryException](run(_ => ()))
          assert(conditions(refused).contains("JOINLESS_STATIC_TABLE_CHANGED"))
        } else {
          var rows = Seq.empty[Row]
          run(batch => rows = batch.collect().toSeq)
          assert(rows == Seq(Row(1, "old", "insert")))
        }
      }
    }
  }

  /** The conditions of an error and its causes. */
  private def conditions(error: Throwable): Seq[String] =
    Iterator.iterate(error)(_.getCause).takeWhile(_ != null).collect { case e: SparkThrowable => e.getCondition }.toSeq

  for (
    (what, first, second) <- Seq(
      ("table", "range(3)", "range(4)"),
      ("filter", "range(3)", "range(3) WHERE id > 1"),
      ("filter of a table of files", "s", "s WHERE g > 0"),
      ("filter in a union", "s UNION ALL SELECT * FROM s", "s WHERE g > 0 UNION ALL SELECT * FROM s")
    ); counted <- Seq(true, false)
  )
    test(s"another $what is another query, ${if (counted) "counted" else "listed"}") {
      def key(rows: String) = if (rows.startsWith("s")) "k" else "id"
      def of(rows: String) =
        if (counted)
          s"SELECT k, COUNT(*) AS n FROM (SELECT CAST(k AS BIGINT) AS k FROM t UNION ALL SELECT c.* FROM (SELECT ${key(rows)} FROM (SELECT * FROM $rows)) c) GROUP BY k"
        else s"SELECT t.k, c.* FROM t JOIN (SELECT * FROM $rows) c ON t.k = c.${key(rows)}"
      val tables = new Tables
      tables.start(of(first))
      tables.insert(1, 1, 1L, 1.0)
      try tables.advance()
      finally tables.stop()
      tables.insert(2, 1, 1L, 1.0)
      val refused = intercept[Exception] {
        tables.start(of(second))
        try tables.advance()
        finally tables.stop()
      }
      assert(conditions(refused).exists(_.startsWith("JOINLESS_STATE_MISMATCH")))
    }

  test("chance and the current time decide on no row that is read once") {
    new Tables().streams()
    for (
      (static, reason) <- Seq(
        "SELECT k FROM s WHERE rand() < 0.5" -> "NONDETERMINISTIC_EXPRESSION",
        "SELECT k FROM s TABLESAMPLE (50 PERCENT)" -> "UNSUPPORTED_OPERATOR",
        "SELECT k FROM s WHERE timestamp_seconds(k) < now()" -> "TIME_DEPENDENT_EXPRESSION"
      )
    ) {
      val refused = intercept[AnalysisException] {
        spark.sql(s"SELECT t.k FROM t JOIN ($static) c ON t.k = c.k").incrementalEnumerate()
          .writeStream.format("noop").start()
      }
      assert(refused.getMessage.contains(reason), static)
    }
  }
}
