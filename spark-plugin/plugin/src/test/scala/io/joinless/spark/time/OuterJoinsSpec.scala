package io.joinless.spark.time

import java.sql.Timestamp

import io.joinless.spark.{SharedSpark, TestFolders}
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import io.joinless.spark.explain.ViewTreeFacts
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.plans.reasons.Reason
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.{AnalysisException, DataFrame, Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** Outer and semi joins of plain queries: which are rewritten, in which surroundings, and how a
  * checkpoint continues.
  */
class OuterJoinsSpec extends AnyFunSuite with SharedSpark {
  import FinalRowsRun._

  implicit private val timedRows: Encoder[Timed] = Encoders.product[Timed]
  implicit private val otherRows: Encoder[Other] = Encoders.product[Other]
  private lazy val session = spark.asInstanceOf[classic.SparkSession]

  private val near = "t.k = a.k AND a.ta BETWEEN t.ts AND t.ts + INTERVAL 20 SECONDS"
  private val pairs =
    s"SELECT t.k, t.g, t.x, t.ts, a.y FROM t JOIN t u ON u.g = t.g AND u.ts = t.ts LEFT JOIN a ON $near"

  /** Two streams with watermarks as the views `t` and `a`, and a method that adds a second of
    * each.
    */
  private class Streams {
    private[this] val ts = PlayedStream.of[Timed](spark)
    private[this] val as = PlayedStream.of[Other](spark)
    ts.toDF.withWatermark("ts", "1 second").createOrReplaceTempView("t")
    as.toDF.withWatermark("ta", "1 second").createOrReplaceTempView("a")

    def all: Seq[PlayedStream[_ <: Product]] = Seq(ts, as)

    def add(second: Int): Unit = {
      ts.add(
        Timed(second % 3, second % 2, second.toLong, at(second)),
        Timed(second % 4, 7, -second.toLong, at(second))
      )
      as.add(Other(second % 5, second, at(second + 3)))
    }
  }

  private def at(second: Int) = new Timestamp(1000L * second)

  private def optimized(sql: String): LogicalPlan =
    Inspection.optimized(session, spark.sql(sql).queryExecution.analyzed)

  private def blocks(plan: LogicalPlan): Seq[Seq[String]] =
    plan.collect { case join: JoinFreeJoin => join.shape.relations.map(_.name) }

  private def reasons(plan: LogicalPlan): Seq[Reason] = plan.collect { case join: Join => Reason.at(join) }.flatten

  test("the joins around an outer join are rewritten with it, and only the columns stored that are needed above") {
    new Streams
    val plan = optimized(s"SELECT g, COUNT(*) AS n FROM ($pairs) GROUP BY g, window(ts, '10 seconds')")
    assert(blocks(plan) == Seq(Seq("t", "u", "a"), Seq("t", "a")))
    val stored = plan.collect { case join: JoinFreeJoin => join.shape.inputs.flatMap(_.columns.map(_.name)) }.flatten
    assert(!stored.contains("x") && !stored.contains("y"), stored)
    assert(reasons(plan).isEmpty)
  }

  test("what keeps state stays above and below, and trees in the place of an outer join's side are rewritten") {
    new Streams
    spark.table("t").dropDuplicates("k", "ts").createOrReplaceTempView("d")
    withConf("spark.joinless.minRelations" -> "2") {
      val below = optimized(s"SELECT t.k, a.y FROM d t LEFT JOIN a ON $near")
      assert(blocks(below).isEmpty)
      assert(reasons(below).map(_.sentence) == Seq(
        "A join of type LEFT OUTER is not an inner join: dropDuplicates of some columns stands below it."
      ))
      // nothing bounds d
      val side =
        optimized(s"SELECT q.k, q.y, d.x FROM (SELECT t.k, a.y FROM t LEFT JOIN a ON $near) q LEFT JOIN d ON d.k = q.k")
      assert(blocks(side) == Seq(Seq("t", "a"), Seq("t", "a")))
      assert(reasons(side).map(_.code) == Seq(Reason.OuterJoin))
    }
  }

  test(
    "a stream that is another one when it is read again stays with Spark, as the sides of an outer join are read twice"
  ) {
    val random = MemoryStream[Timed](timedRows, session).toDF().withColumn("r", expr("CAST(rand() * 9 AS INT)"))
    new Streams
    random.withWatermark("ts", "1 second").createOrReplaceTempView("t")
    withConf("spark.joinless.minRelations" -> "2") {
      val sql = "SELECT t.r, a.y FROM t LEFT JOIN a ON t.r = a.k AND a.ta BETWEEN t.ts AND t.ts + INTERVAL 20 SECONDS"
      val plan = optimized(sql)
      assert(blocks(plan).isEmpty && reasons(plan).map(_.code) == Seq(Reason.NondeterministicExpression))
      val e = intercept[AnalysisException] {
        spark.sql(sql).incrementalEnumerate("on_close").writeStream.format("noop")
          .option("checkpointLocation", TestFolders.create("random").toString).start()
      }
      assert(e.getMessage.contains("rand("), e.getMessage)
    }
  }

  test("LEFT JOINs in a chain: the rows of none are stored for another, and all rows are evicted") {
    new Streams
    def times(from: String, to: String) = s"$to BETWEEN $from AND $from + INTERVAL 20 SECONDS"
    def chain(second: String) =
      s"SELECT t.k, a.y, u.x, b.y AS z FROM t LEFT JOIN a ON $near LEFT JOIN t u ON u.g = a.y AND ${times("a.ta", "u.ts")} " +
        s"LEFT JOIN a b ON $second"
    for (second <- Seq(s"b.k = u.k AND ${times("u.ts", "b.ta")}", s"b.k = a.y AND ${times("a.ta", "b.ta")}")) {
      val plan = optimized(chain(second))
      val shapes = plan.collect { case join: JoinFreeJoin => join.shape }
      assert(shapes.nonEmpty && reasons(plan).isEmpty)
      for (relation <- shapes.flatMap(_.relations)) {
        assert(relation.name != "rows")
        assert(relation.lifetime.isDefined, relation.name)
      }
    }
    // it reads the rows of the first stream, too, so all rows are searched for a match
    val third = blocks(optimized(chain(s"b.k = u.k AND ${times("t.ts", "b.ta")}")))
    assert(third.exists(_.contains("rows")), third)
  }

  test("joins in a row are as many blocks more, though their conditions can fail where times are too large") {
    new Streams
    def bounds(i: Int) = s"b$i.k = t.k AND b$i.ta BETWEEN t.ts AND t.ts + INTERVAL ${i + 9} SECONDS"
    def row(join: Int => String) = "SELECT t.k, t.ts FROM t " + (1 to 4).map(join).mkString(" ")
    assert(blocks(optimized(row(i => s"LEFT SEMI JOIN a b$i ON ${bounds(i)}"))).size == 5)
    assert(blocks(optimized(row(i => s"LEFT JOIN a b$i ON ${bounds(i)}"))).size == 5)
    // if rows can be deleted, keys are grouped first, of which there may be fewer
    for (
      (exists, form, size) <- Seq(
        ("EXISTS", "on_close", 5),
        ("NOT EXISTS", "on_close", 5),
        ("EXISTS", "weight", 9),
        ("NOT EXISTS", "weight", 13)
      )
    ) {
      val sql =
        "SELECT * FROM t WHERE " + (1 to 4).map(i => s"$exists (SELECT 1 FROM a b$i WHERE ${bounds(i)})").mkString(
          " AND "
        )
      val plan = Inspection.optimized(session, spark.sql(sql).incrementalEnumerate(form).queryExecution.analyzed)
      assert(blocks(plan).size == size, s"$exists, $form")
    }
  }

  test("explain says which rows of an outer join are kept for ever") {
    new Streams
    def kept(sql: String) = optimized(sql).collect { case join: JoinFreeJoin =>
      ViewTreeFacts(join.shape).keptForEver.map(_._1)
    }.flatten.toSet
    val upper = pairs.replace("a.ta BETWEEN t.ts AND", "a.ta <=")
    assert(kept(upper).contains("a"), kept(upper))
    assert(kept(pairs).isEmpty)
  }

  test("what Spark keeps is Spark's plan") {
    new Streams
    def spark_(sql: String) = withConf("spark.joinless.enabled" -> "false")(optimized(sql).canonicalized.toString)
    for (
      sql <- Seq(
        s"SELECT t.k, a.y FROM t LEFT JOIN a ON $near", // two relations
        "SELECT t.k, a.y FROM t JOIN t u ON u.g = t.g LEFT JOIN a ON t.k = a.k", // no bounds
        s"SELECT t.k FROM t JOIN t u ON u.g = t.g AND u.ts = t.ts LEFT ANTI JOIN a ON $near"
      )
    ) {
      val plan = optimized(sql)
      assert(blocks(plan).isEmpty && reasons(plan).nonEmpty)
      assert(numbered(plan.canonicalized.toString) == numbered(spark_(sql)))
    }
    withConf("spark.joinless.outerJoins.enabled" -> "false") {
      assert(blocks(optimized(pairs)).isEmpty)
      assert(reasons(optimized(pairs)).exists(_.sentence.contains("spark.joinless.outerJoins.enabled is false")))
    }
    assert(blocks(optimized(pairs)).size == 2)
  }

  /** A plan's text with ids numbered in the order in which they occur. */
  private def numbered(plan: String): String = {
    val ids = "#[0-9]+L?".r
    val order = ids.findAllIn(plan).toSeq.distinct
    ids.replaceAllIn(plan, m => s"#${order.indexOf(m.matched)}")
  }

  test("Spark's own operators above get all rows, in time") {
    val sql =
      s"SELECT window(ts, '10 seconds').end AS e, COUNT(*) AS n, COUNT(y) AS m, SUM(x) AS s FROM ($pairs) GROUP BY window(ts, '10 seconds')"
    val emitted = played(sql, new Streams)(_.startsWith("joinFree"))
    val bySpark = withConf("spark.joinless.enabled" -> "false") {
      played(sql, new Streams)(_ == "symmetricHashJoin")
    }
    // Spark waits longer
    assert(bySpark.toSet.subsetOf(emitted.toSet) && bySpark.size >= 4 && emitted.distinct.size == emitted.size)
  }

  test("rows that waited for matches are not late for another query that requests final rows") {
    def emitted(sql: String): Seq[Row] = {
      val streams = new Streams
      spark.sql(s"SELECT t.k, t.g, t.x, t.ts, a.y FROM t LEFT JOIN a ON $near").incrementalEnumerate("on_close")
        .createOrReplaceTempView("q")
      val requested = spark.sql(sql).incrementalEnumerate("on_close")
      played(requested, streams, PlayedQuery.newCheckpoint(), PlayedQuery.AsBatches())(_.startsWith("joinFree"))
    }
    val joined =
      emitted("SELECT q.x, q.y FROM q JOIN t u ON u.g = q.g AND u.ts BETWEEN q.ts - INTERVAL 10 SECONDS AND q.ts")
    for (second <- 10 to 100 by 10; x <- Seq(second.toLong, -second.toLong)) assert(joined.exists(_.getLong(0) == x), x)
    assert(joined.exists(_.isNullAt(1)) && joined.exists(!_.isNullAt(1)))
    // several operators read streams here, so late rows are dropped where these are read
    val counted = emitted(
      "SELECT w.end AS e, COUNT(DISTINCT x) AS n FROM (SELECT window(ts, '10 seconds') AS w, x FROM q UNION ALL " +
        s"SELECT window(t.ts, '10 seconds'), NULL FROM t JOIN a ON $near) GROUP BY w"
    )
    // the query waits for q, and for matches of t after that
    val ends = 20 to 90 by 10
    assert(ends.map(end => counted.filter(_.getTimestamp(0) == at(end)).map(_.getLong(1))) == ends.map(_ => Seq(2L)))
  }

  test("a checkpoint that was begun with Spark's operators goes on with them") {
    val (streams, checkpoint) = (new Streams, PlayedQuery.newCheckpoint())
    val first = withConf("spark.joinless.enabled" -> "false") {
      begun(pairs, streams, checkpoint, 0 until 40 by 10)(_ == "symmetricHashJoin")
    }
    val second = begun(pairs, streams, checkpoint, 40 until 80 by 10)(_ == "symmetricHashJoin")
    assert(first.nonEmpty && second.nonEmpty)
    assert(reasons(optimized(pairs)).isEmpty, "a new query is rewritten")
  }

  test("a checkpoint that was begun here goes on, whatever the settings say by now") {
    val (streams, checkpoint) = (new Streams, PlayedQuery.newCheckpoint())
    val first = begun(pairs, streams, checkpoint, 0 until 40 by 10)(_.startsWith("joinFree"))
    val second = withConf("spark.joinless.minRelations" -> "9", "spark.joinless.outerJoins.enabled" -> "false") {
      begun(pairs, streams, checkpoint, 40 until 120 by 10)(_.startsWith("joinFree"))
    }
    val whole =
      begun(pairs, new Streams, PlayedQuery.newCheckpoint(), 0 until 120 by 10)(_.startsWith("joinFree"))
    def bag(rows: Seq[Row]) = rows.groupBy(identity).map { case (row, copies) => row -> copies.size }
    assert(bag(first ++ second) == bag(whole) && whole.exists(_.isNullAt(4)) && whole.exists(!_.isNullAt(4)))
    val changed = intercept[Exception](
      begun(pairs.replace("20 SECONDS", "30 SECONDS"), streams, checkpoint, 120 until 130 by 10)(_ => true)
    )
    assert(changed.getMessage.contains("JOINLESS_STATE_MISMATCH"), changed.getMessage)
  }

  private def played(sql: String, streams: Streams)(operator: String => Boolean): Seq[Row] =
    played(spark.sql(sql), streams, PlayedQuery.newCheckpoint(), PlayedQuery.AsBatches())(operator)

  /** As a stream, whose checkpoint another run may continue. */
  private def begun(sql: String, streams: Streams, checkpoint: String, seconds: Range)(
      operator: String => Boolean
  ): Seq[Row] = played(spark.sql(sql), streams, checkpoint, PlayedQuery.AsStream, seconds)(operator)

  /** The rows that a query emits for these seconds. All of its stateful operators below its own
    * groups must satisfy `operator`.
    */
  private def played(
      result: DataFrame,
      streams: Streams,
      checkpoint: String,
      way: PlayedQuery.Way,
      seconds: Range = 0 until 150 by 10
  )(operator: String => Boolean): Seq[Row] = {
    val query = new PlayedQuery(streams.all, way, checkpoint = checkpoint)(result)
    val batches =
      try seconds.flatMap { second =>
          streams.add(second)
          query.next()
        }
      finally query.close()
    val operators = batches.flatMap(_.operators.map(_.operatorName)).distinct
    assert(operators.filterNot(_ == "stateStoreSave").forall(operator) && operators.nonEmpty, operators)
    batches.flatMap(_.rows)
  }
}
