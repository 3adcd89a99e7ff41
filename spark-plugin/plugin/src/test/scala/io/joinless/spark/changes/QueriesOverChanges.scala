package io.joinless.spark.changes

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.joinless.engine.oracle.Seeds
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import io.joinless.spark.{BatchSql, SharedSpark}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, Row, SparkSession, classic}
import org.scalatest.Assertions

/** Random changes of a few tables, and the changes that queries over them emit, against batch SQL.
  */
trait QueriesOverChanges extends Assertions { this: SharedSpark =>
  import QueriesOverChanges._

  private val session = spark.asInstanceOf[classic.SparkSession]

  /** Changes of `t(k, g, x, d)` and of `u(k, g)`, and append-only rows of `a(k, y)`. */
  final protected class Tables {
    private val changes = new PlayedStream[Change](session, named(change.schema, "_change_type", "k", "g", "x", "d"))
    private val pairs = new PlayedStream[PairChange](session, named(pairChange.schema, "_change_type", "k", "g"))
    private val rows = new PlayedStream[Appended](session, named(appended.schema, "k", "y"))
    private val present = mutable.ArrayBuffer.empty[Now]
    private val presentPairs = mutable.ArrayBuffer.empty[Appended]
    private val appendedRows = mutable.ArrayBuffer.empty[Appended]
    private val checkpoint = PlayedQuery.newCheckpoint()
    private val sums = mutable.Map.empty[Seq[Any], Long].withDefaultValue(0L)
    private var played: PlayedQuery = null
    private var sql = ""

    private def all: Seq[PlayedStream[_ <: Product]] = Seq(changes, pairs, rows)

    def streams(): Unit = {
      changes.toDF.changelog().createOrReplaceTempView("t")
      pairs.toDF.changelog().createOrReplaceTempView("u")
      rows.toDF.createOrReplaceTempView("a")
    }

    def tables(): Unit = {
      BatchSql.table("t", rowsOf(session, present.toSeq, named(row.schema, "k", "g", "x", "d")))
      BatchSql.table("u", rowsOf(session, presentPairs.toSeq, named(appended.schema, "k", "g")))
      BatchSql.table("a", rowsOf(session, appendedRows.toSeq, named(appended.schema, "k", "y")))
    }

    def start(sql: String, form: String = "change_type", way: PlayedQuery.Way = PlayedQuery.AsStream): Unit = {
      this.sql = sql
      played = new PlayedQuery(all, way, checkpoint = checkpoint)({
        streams()
        spark.sql(sql).incrementalEnumerate(form)
      })
    }

    /** Sends the waiting rows to a query that the test runs itself. */
    def send(): Unit = all.foreach(_.send())

    /** Sends the waiting rows to the query: one batch, if it reads any of them. */
    def advance(): Unit = played.next().foreach(batch => take(batch.rows))

    def restart(): Unit = played.restart()

    def stop(): Unit = played.close()

    private def take(rows: Seq[Row]): Unit = {
      begun = true
      this.emitted += rows.length
      val emitted = rows.map(row => (values(row).init, weight(row.toSeq.last)))
      emitted.groupBy(_._1).foreach { case (row, changes) =>
        assert(changes.map(_._2.sign).distinct.size == 1, s"$row is inserted and deleted")
      }
      emitted.foreach { case (row, w) =>
        sums(row) += w
        if (sums(row) == 0) sums -= row
      }
      val _ = assert(sums.values.forall(_ > 0), s"$sql deletes what is not there: $sums")
    }

    def insert(k: Integer, g: Integer, x: java.lang.Long, d: java.lang.Double): Unit = {
      present += ((k, g, x, d))
      changes.add(("insert", k, g, x, d))
    }

    def append(k: Integer, y: Integer): Unit = {
      appendedRows += ((k, y))
      rows.add((k, y))
    }

    def delete(at: Int): Unit = {
      val (k, g, x, d) = present.remove(at)
      changes.add(("delete", k, g, x, d))
    }

    def insertPair(k: Integer, g: Integer): Unit = {
      presentPairs += ((k, g))
      pairs.add(("insert", k, g))
    }

    def deletePair(at: Int): Unit = {
      val (k, g) = presentPairs.remove(at)
      pairs.add(("delete", k, g))
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

    /** Number of change rows so far. */
    var emitted = 0

    def size: Int = present.size

    /** Whether there was a batch: the query reads some of the rows. */
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

  private def weight(change: Any): Long = change match {
    case "insert" => 1L
    case "delete" => -1L
    case w: Long => w
    case other => throw new IllegalArgumentException(s"$other is no change")
  }

  /** The values of a row; NaN is replaced by a value that is equal to itself. */
  private def values(row: Row): Seq[Any] = row.toSeq.map {
    case d: Double if d.isNaN => "NaN"
    case other => other
  }

  protected def bag(df: DataFrame): Map[Seq[Any], Long] = bag(df.collect().toSeq)

  private def bag(rows: Seq[Row]): Map[Seq[Any], Long] =
    rows.groupBy(values).map { case (row, copies) => row -> copies.size.toLong }

  /** Joins of few relations, and those without equi-join conditions, are compiled, too. */
  private val crossed: Seq[(String, String)] =
    Seq("spark.joinless.crossProducts.enabled" -> "true", "spark.joinless.minRelations" -> "1")

  /** Checks the `i`-th query of a list, compiled whatever it joins: every other one has the changes
    * as weights.
    */
  protected def checkCrossed(sql: String, i: Int, streaming: Boolean = false): Unit =
    withConf(crossed: _*)(check(sql, 4L * i, if (i % 2 == 0) "weight" else "change_type", streaming = streaming))

  /** Checks the `i`-th query of a list: every other one has the changes as weights, every sixth runs
    * in a real stream.
    */
  protected def checkInTurn(sql: String, i: Int): Unit =
    check(sql, Seeds.of(sql), if (i % 2 == 0) "change_type" else "weight", streaming = i % 6 == 0)

  /** Runs four batches, with a restart in the middle.
    *
    * @param oracle the query for batch SQL, if the rows of `sql` itself are not deterministic there
    * @param streaming in a real stream, not as batches without one
    */
  protected def check(
      sql: String,
      seed: Long,
      form: String,
      oracle: Option[String] = None,
      streaming: Boolean = false
  ): Unit = {
    val rng = new Random(seed)
    val tables = new Tables
    tables.start(sql, form, if (streaming) PlayedQuery.AsStream else PlayedQuery.AsBatches(Some(seed)))
    try
      for (batch <- 0 until 4) {
        if (batch == 2) tables.restart()
        tables.random(rng)
        tables.advance()
        // before the first rows there was no batch
        if (tables.begun)
          assert(tables.result == tables.expected(oracle.getOrElse(sql)), s"seed $seed, batch $batch, $form: $sql")
      }
    finally tables.stop()
    if (tables.begun && seed % 4 == 0) {
      val _ = assert(tables.full(sql) == tables.result, s"seed $seed, the complete result of $sql")
    }
  }

  /** The complete result after two batches. */
  protected def checkFull(sql: String, seed: Long): Unit = {
    val (rng, tables) = (new Random(seed), new Tables)
    tables.start(sql)
    try for (_ <- 0 until 2) { tables.random(rng); tables.advance() }
    finally tables.stop()
    val _ = assert(tables.full(sql) == tables.expected(sql), s"seed $seed: $sql")
  }
}

object QueriesOverChanges {

  /** Rows as a table. An encoder would have to be resolved for each, which takes longer than a
    * small batch.
    */
  private def rowsOf(session: SparkSession, rows: Seq[Product], schema: StructType): DataFrame =
    session.createDataFrame(rows.map(Row.fromTuple).asJava, schema)

  private def named(schema: StructType, columns: String*): StructType =
    StructType(schema.zip(columns).map { case (field, name) => field.copy(name = name) })

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
