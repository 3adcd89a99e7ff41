package io.joinless.spark.changes

import io.joinless.spark.api._
import io.joinless.spark.{SharedSpark, TestFolders}
import org.scalatest.funsuite.AnyFunSuite

/** `spark.readStream.changes(...)` of Spark 4.2 as a changelog, if a catalog provides it. */
class ReadChangesSpec extends AnyFunSuite with SharedSpark {

  /** The changes of a join of two tables with changes, by all commits so far. */
  private def run(mode: String): Seq[String] = {
    spark.conf.set("spark.sql.catalog.feeds", classOf[ChangesCatalog].getName)
    val tables = Seq("left", "right").map(side => s"${side}_$mode".toLowerCase(java.util.Locale.ROOT))
    import ChangesCatalog.commit
    commit(tables(0), ("insert", 1, 10, 0), ("insert", 2, 20, 0))
    commit(tables(1), ("insert", 10, 100, 0), ("insert", 20, 200, 0))
    // 10 is rewritten unchanged, 20 changes
    commit(
      tables(1),
      ("delete", 10, 100, 0),
      ("insert", 10, 100, 0),
      ("update_preimage", 20, 200, 0),
      ("update_postimage", 20, 201, 1)
    )
    commit(tables(0), ("delete", 1, 10, 0))
    for (table <- tables) {
      spark.readStream.option("deduplicationMode", mode).option("startingVersion", 0).changes(s"feeds.$table")
        .drop("_row_version").changelog().createOrReplaceTempView(table)
    }
    val joined = spark.sql(s"SELECT l.a, r.b FROM ${tables(0)} l JOIN ${tables(1)} r ON l.b = r.a")
    assert(spark.table(tables(0)).columns.toSeq == Seq("a", "b"))
    val name = s"emitted_$mode".toLowerCase(java.util.Locale.ROOT)
    val query = joined.incrementalEnumerate().writeStream.format("memory").queryName(name)
      .option("checkpointLocation", TestFolders.create("feeds").toString)
      .start()
    try query.processAllAvailable()
    finally query.stop()
    spark.table(name).collect().map(_.toString).toSeq.sorted
  }

  test("raw changes") {
    assert(run("none") == Seq("[2,201,insert]"))
  }

  test("changes without carry-over rows, which Spark removes by an operator of its own below") {
    // Spark holds a commit back until a later batch, so changes may be emitted in several batches:
    // they add up
    val sum = run("dropCarryovers").groupMapReduce(row => row.take(row.lastIndexOf(','))) { row =>
      if (row.endsWith("insert]")) 1 else -1
    }(_ + _)
    assert(sum.filter(_._2 != 0) == Map("[2,201" -> 1))
  }
}
