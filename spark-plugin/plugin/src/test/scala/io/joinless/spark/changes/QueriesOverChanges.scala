package io.joinless.spark.changes

import scala.collection.mutable
import scala.util.Random

import io.joinless.spark.api._
import io.joinless.spark.{BatchSql, SharedSpark, TestFolders}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, Row, classic}
import org.scalatest.Assertions

/** Random changes of a few tables, and what queries over them tell beside what batch SQL has. */
trait QueriesOverChanges extends Assertions { this: SharedSpark =>
  import QueriesOverChanges._

  private val session = spark.asInstanceOf[classic.SparkSession]

  /** Changes of `t(k, g, x, d)` and of `u(k, g)`, and rows that only come of `a(k, y)`. */
  final protected class Tables {
    val changes = MemoryStream[Change](change, session)
    val pairs = MemoryStream[PairChange](pairChange, session)
    val rows = MemoryStream[Appended](appended, session)
    private val present = mutable.ArrayBuffer.empty[Now]
    private val presentPairs = mutable.ArrayBuffer.empty[Appended]
    private val came = mutable.ArrayBuffer.empty[Appended]
    private val checkpoint = TestFolders.create("groups").resolve("cp").toString
    private val sums = mutable.Map.empty[Seq[Any], Long].withDefaultValue(0L)
    var running: StreamingQuery = null

    def streams(): Unit = {
      changes.toDF().toDF("_change_type", "k", "g", "x", "d").changelog().createOrReplaceTempView("t")
      pairs.toDF().toDF("_change_type", "k", "g").changelog().createOrReplaceTempView("u")
      rows.toDF().toDF("k", "y").createOrReplaceTempView("a")
    }

    def tables(): Unit = {
      BatchSql.table("t", session.createDataset(present.toSeq)(row), "k", "g", "x", "d")
      BatchSql.table("u", session.createDataset(presentPairs.toSeq)(appended), "k", "g")
      BatchSql.table("a", session.createDataset(came.toSeq)(appended), "k", "y")
    }

    def start(sql: String, form: String = "change_type"): Unit = {
      streams()
      val take: (org.apache.spark.sql.Dataset[Row], Long) => Unit = (batch, _) => {
        begun = true
        val rows = batch.collect()
        this.told += rows.length
        val told = rows.toSeq.map(row => (values(row).init, weight(row.toSeq.last)))
        told.groupBy(_._1).foreach { case (row, changes) =>
          assert(changes.map(_._2.sign).distinct.size == 1, s"$row comes and goes")
        }
        told.foreach { case (row, w) =>
          sums(row) += w
          if (sums(row) == 0) sums -= row
        }
        val _ = assert(sums.values.forall(_ > 0), s"$sql deletes what is not there: $sums")
      }
      running = spark.sql(sql).incrementalEnumerate(form).writeStream.option("checkpointLocation", checkpoint)
        .foreachBatch(take).start()
    }

    def insert(k: Integer, g: Integer, x: java.lang.Long, d: java.lang.Double): Unit = {
      present += ((k, g, x, d))
      val _ = changes.addData(("insert", k, g, x, d))
    }

    def append(k: Integer, y: Integer): Unit = {
      came += ((k, y))
      val _ = rows.addData((k, y))
    }

    def delete(at: Int): Unit = {
      val (k, g, x, d) = present.remove(at)
      val _ = changes.addData(("delete", k, g, x, d))
    }

    def insertPair(k: Integer, g: Integer): Unit = {
      presentPairs += ((k, g))
      val _ = pairs.addData(("insert", k, g))
    }

    def deletePair(at: Int): Unit = {
      val (k, g) = presentPairs.remove(at)
      val _ = pairs.addData(("delete", k, g))
    }

    def random(rng: Random): Unit = {
      def some[A](values: A*): A = values(rng.nextInt(values.size))
      def int(n: Int): Integer = if (rng.nextInt(8) == 0) null else rng.nextInt(n)
      for (_ <- 0 until rng.nextInt(12)) {
        val x: java.lang.Long =
          if (rng.nextInt(6) == 0) null else some[Long](1, -1, 7, 1L << 40, rng.nextInt(50).toLong)
        val d: java.lang.Double = if (rng.nextInt(6) == 0) null else some(0.5, -0.25, 3.0, rng.nextInt(64) / 8.0)
        insert(int(4), int(3), x, d)
      }
      for (_ <- 0 until rng.nextInt(8) if present.nonEmpty) delete(rng.nextInt(present.size))
      for (_ <- 0 until rng.nextInt(5)) append(int(4), int(3))
      for (_ <- 0 until rng.nextInt(5)) insertPair(int(5), int(3))
      for (_ <- 0 until rng.nextInt(4) if presentPairs.nonEmpty) deletePair(rng.nextInt(presentPairs.size))
      if (rng.nextInt(6) == 0) while (presentPairs.nonEmpty) deletePair(0)
      if (rng.nextInt(6) == 0) while (present.nonEmpty) delete(0)
    }

    /** How many rows of changes came so far. */
    var told = 0

    def size: Int = present.size

    /** There was a batch: something came that the query reads. */
    var begun = false

    def result: Map[Seq[Any], Long] = sums.toMap

    /** The sources and tables that the complete result is read from. */
    def readFrom(sql: String): Seq[String] = fullRows(sql).queryExecution.optimizedPlan.collectLeaves().map(_.toString)

    def full(sql: String): Map[Seq[Any], Long] = bag(fullRows(sql))

    def fullRows(sql: String): DataFrame = {
      streams()
      spark.sql(sql).enumerateFull(checkpoint)
    }

    def expected(sql: String): Map[Seq[Any], Long] = {
      tables()
      bag(BatchSql.rows(spark.sql(sql)))
    }
  }

  private def weight(told: Any): Long = told match {
    case "insert" => 1L
    case "delete" => -1L
    case w: Long => w
    case other => throw new IllegalArgumentException(s"$other is no change")
  }

  /** The values of a row; NaN is none that is equal to itself. */
  private def values(row: Row): Seq[Any] = row.toSeq.map {
    case d: Double if d.isNaN => "NaN"
    case other => other
  }

  protected def bag(df: DataFrame): Map[Seq[Any], Long] = bag(df.collect().toSeq)

  private def bag(rows: Seq[Row]): Map[Seq[Any], Long] =
    rows.groupBy(values).map { case (row, copies) => row -> copies.size.toLong }

  /** @param oracle what batch SQL is asked, where it does not decide on the rows of `sql` itself */
  protected def check(sql: String, seed: Long, form: String, oracle: Option[String] = None): Unit = {
    val rng = new Random(seed)
    val tables = new Tables
    val batches = 4
    tables.start(sql, form)
    try
      for (batch <- 0 until batches) {
        if (batch == 2) {
          tables.running.stop()
          tables.start(sql, form)
        }
        tables.random(rng)
        tables.running.processAllAvailable()
        // before anything came there was no batch
        if (tables.begun)
          assert(tables.result == tables.expected(oracle.getOrElse(sql)), s"seed $seed, batch $batch, $form: $sql")
      }
    finally tables.running.stop()
    if (tables.begun && seed % 4 == 0) {
      val _ = assert(tables.full(sql) == tables.result, s"seed $seed, the complete result of $sql")
    }
  }

  /** The complete result after two batches. */
  protected def checkFull(sql: String, seed: Long): Unit = {
    val (rng, tables) = (new Random(seed), new Tables)
    tables.start(sql)
    try for (_ <- 0 until 2) { tables.random(rng); tables.running.processAllAvailable() }
    finally tables.running.stop()
    val _ = assert(tables.full(sql) == tables.expected(sql), s"seed $seed: $sql")
  }
}

object QueriesOverChanges {
  type Change = (String, Integer, Integer, java.lang.Long, java.lang.Double)
  type Now = (Integer, Integer, java.lang.Long, java.lang.Double)
  type PairChange = (String, Integer, Integer)
  type Appended = (Integer, Integer)

  val change: Encoder[Change] =
    Encoders.tuple(Encoders.STRING, Encoders.INT, Encoders.INT, Encoders.LONG, Encoders.DOUBLE)

  val row: Encoder[Now] = Encoders.tuple(Encoders.INT, Encoders.INT, Encoders.LONG, Encoders.DOUBLE)

  val appended: Encoder[Appended] = Encoders.tuple(Encoders.INT, Encoders.INT)

  val pairChange: Encoder[PairChange] = Encoders.tuple(Encoders.STRING, Encoders.INT, Encoders.INT)
}
