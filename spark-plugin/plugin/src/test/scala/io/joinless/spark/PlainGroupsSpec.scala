package io.joinless.spark

import java.sql.Timestamp

import scala.util.Random

import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import io.joinless.spark.checkpoint.CommittedState
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.spec.BlockShape
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.streaming.OutputMode
import org.apache.spark.sql.{DataFrame, Encoder, Encoders, Row, classic}
import org.scalatest.funsuite.AnyFunSuite

/** GROUP BY over joins in plain streaming SQL: results are counted inside of the join, and each
  * batch emits the same rows as Spark alone.
  */
class PlainGroupsSpec extends AnyFunSuite with SharedSpark {
  import PlainGroupsSpec._

  private val session = spark.asInstanceOf[classic.SparkSession]

  /** The number of random queries to run; if it is not 0, all others are run, too. */
  private val random = sys.env.getOrElse("JOINLESS_PLAIN_GROUPS", "0").toInt
  private val all = random > 0

  /** Each with whether its block counts. */
  private val inUpdateMode = Seq(
    s"SELECT t.g, COUNT(*) AS n $Path GROUP BY t.g" -> true,
    s"SELECT COUNT(*) AS n, SUM(t.x) AS s $Path" -> true,
    s"SELECT t.g, COUNT(t.x) AS c, SUM(t.x) AS s, AVG(t.x) AS m $Path GROUP BY t.g" -> true,
    s"SELECT u.g, SUM(a.y) AS s, MIN(t.x) AS l, MAX(t.x) AS h $Path GROUP BY u.g" -> true,
    s"SELECT t.g, a.y, COUNT(*) AS n $Path GROUP BY t.g, a.y" -> true,
    s"SELECT t.g + 1 AS p, COUNT(*) + 1 AS n, SUM(t.g) * 2 AS s $Path GROUP BY t.g + 1" -> true,
    s"SELECT t.g % 2 AS p, SUM(CAST(u.g AS BIGINT) * a.y) AS s $Path GROUP BY t.g % 2" -> true,
    s"SELECT u.g, SUM(CAST(t.x AS DECIMAL(22, 2))) AS s, AVG(CAST(a.y AS DECIMAL(10, 1))) AS m $Path GROUP BY u.g" -> true,
    s"SELECT u.g, SUM(CAST(t.g AS DECIMAL(5, 1)) * CAST(a.y AS DECIMAL(5, 1))) AS s $Path GROUP BY u.g" -> true,
    s"SELECT u.g, COUNT(*) FILTER (WHERE a.y > 0 AND t.x > 1) AS n, SUM(t.x) FILTER (WHERE a.y > 0) AS s $Path GROUP BY u.g" -> true,
    s"SELECT u.g, SUM(CASE WHEN a.y > 0 THEN t.x ELSE 0 END) AS s, AVG(CASE WHEN t.g = 1 THEN a.y END) AS m $Path GROUP BY u.g" -> true,
    s"SELECT t.g, COUNT(t.x || a.y) AS c, SUM(t.g * u.g + a.y) AS s $Path GROUP BY t.g" -> true,
    s"SELECT t.g, SUM(LENGTH(t.x || a.y)) AS s, AVG(LENGTH(t.x || a.y)) AS m $Path GROUP BY t.g" -> true,
    s"SELECT t.g, SUM(CAST(LENGTH(t.x || a.y) AS DECIMAL(30, 3))) AS s $Path GROUP BY t.g" -> true,
    s"SELECT MIN(t.x) AS l, MAX(a.y) AS h $Path" -> true,
    s"SELECT t.g, MAX(t.x) AS h, BOOL_OR(a.y > 1) AS o, APPROX_COUNT_DISTINCT(a.y) AS d $Path GROUP BY t.g" -> true,
    s"SELECT DISTINCT t.g, a.y $Path" -> true,
    s"SELECT t.g, COUNT(*) AS n $Path WHERE t.g < a.y GROUP BY t.g" -> true,
    s"SELECT t.g, COUNT(*) AS n, SUM(t.x) AS s $Path GROUP BY t.g HAVING COUNT(*) > 2 AND SUM(t.x) > 10" -> true,
    s"SELECT SUM(n) AS n FROM (SELECT t.g, t.x AS n $Path) GROUP BY g" -> true,
    "SELECT p.k, COUNT(*) AS n, SUM(r.y) AS s FROM a p JOIN a q ON p.y = q.k JOIN a r ON q.y = r.k GROUP BY p.k" -> true,
    "SELECT p.k, COUNT(*) AS n FROM a p JOIN a q ON p.k = q.k JOIN a r ON q.k = r.k GROUP BY p.k" -> true,
    "SELECT t.g, u.g AS v, COUNT(*) AS n FROM t JOIN u ON t.k <=> u.k JOIN a ON u.g <=> a.k GROUP BY t.g, u.g" -> true,
    "SELECT t.g, SUM(t.x) AS s FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k AND a.y > t.g GROUP BY t.g" -> true,
    s"SELECT DATE(t.ts) AS d, COUNT(*) AS n $TimeLast GROUP BY DATE(t.ts)" -> true,
    s"SELECT t.g, SUM(t.d) AS f, COUNT(*) AS n $Path GROUP BY t.g" -> false,
    s"SELECT t.g, SIZE(COLLECT_LIST(t.x)) AS l $Path GROUP BY t.g" -> false,
    s"SELECT t.g, TRY_SUM(t.x) AS s $Path GROUP BY t.g" -> false,
    s"SELECT t.g, COUNT(*) AS n $Path GROUP BY ROLLUP (t.g)" -> false
  )

  private val inAppendMode = Seq(
    s"SELECT window(t.ts, '10 seconds') AS w, COUNT(*) AS n, SUM(t.x) AS s $TimeLast GROUP BY window(t.ts, '10 seconds')" -> true,
    s"SELECT window(t.ts, '10 seconds').start AS w, t.g, MAX(t.x) AS h $TimeLast GROUP BY window(t.ts, '10 seconds'), t.g" -> true,
    s"SELECT window(t.ts, '20 seconds', '10 seconds') AS w, COUNT(*) AS n $TimeLast GROUP BY window(t.ts, '20 seconds', '10 seconds')" -> false,
    s"SELECT t.ts, COUNT(*) AS n, AVG(a.y) AS m $TimeLast GROUP BY t.ts" -> true,
    s"SELECT DISTINCT t.ts, u.g $TimeLast" -> true
  )

  for (((sql, counts), i) <- inUpdateMode.zipWithIndex; if all || played(i))
    test(s"in update mode each batch is Spark's: $sql")(check(
      sql,
      OutputMode.Update(),
      counts,
      i.toLong,
      way(i % 12 == 2)
    ))

  for (((sql, counts), i) <- inAppendMode.zipWithIndex; if all || i == 0)
    test(s"in append mode each batch is Spark's: $sql")(check(sql, OutputMode.Append(), counts, 100L + i, way(i == 0)))

  test("which of these queries count") {
    new Run(OutputMode.Update()).views()
    for ((sql, counts) <- inUpdateMode ++ inAppendMode)
      assert(this.counts(sql) == counts, sql)
  }

  for (seed <- 0 until random) test(s"random query $seed: each batch is Spark's, in update mode") {
    val counts = !AllColumnsProjected(seed)
    check(new RandomGroups(seed.toLong).sql, OutputMode.Update(), counts, seed.toLong, way(seed % 6 == 0))
  }

  test("random queries count but for those that project all columns of their rows") {
    new Run(OutputMode.Update()).views()
    val listed = (0 until 100).filterNot(seed => counts(new RandomGroups(seed.toLong).sql))
    assert(listed.toSet == AllColumnsProjected, listed.map(seed => new RandomGroups(seed.toLong).sql).mkString("\n"))
  }

  for (counted <- Seq(true, false))
    test(
      s"a checkpoint that was begun ${if (counted) "with" else "without"} counts goes on so, whatever the setting says now"
    ) {
      SharedSpark.assumeUpdateMode()
      val sql = inUpdateMode(2)._1
      val batches = new Generator(7L).batches(4)
      val run = new Run(OutputMode.Update(), PlayedQuery.AsStream)
      val emitted = run.emitted(sql, batches)(atRestart => conf(aggregates = counted != atRestart))
      assert(run.recorded.exists(_.reduction.isDefined) == counted)
      assert(emitted == sparks(sql, OutputMode.Update(), batches, PlayedQuery.AsStream))
    }

  test("a query that adds up something else is refused by name") {
    SharedSpark.assumeUpdateMode()
    val run = new Run(OutputMode.Update(), PlayedQuery.AsStream)
    val batches = new Generator(8L).batches(2)
    run.emitted(s"SELECT t.g, SUM(t.x) AS s $Path GROUP BY t.g", batches)(_ => ())
    val error = intercept[Exception](run.emitted(s"SELECT t.g, SUM(a.y) AS s $Path GROUP BY t.g", batches)(_ => ()))
    assert(error.getMessage.contains("JOINLESS_STATE_MISMATCH"), error)
  }

  private def played(query: Int): Boolean = Set(2, 7, 10, 15, 20)(query)

  private def conf(aggregates: Boolean): Unit = spark.conf.set("spark.joinless.aggregates.enabled", aggregates.toString)

  /** Of each kind of query one or more are played as streams. */
  private def way(asStream: Boolean) = if (asStream) PlayedQuery.AsStream else PlayedQuery.AsBatches()

  private def check(sql: String, mode: OutputMode, counts: Boolean, seed: Long, way: PlayedQuery.Way): Unit = {
    if (mode == OutputMode.Update()) SharedSpark.assumeUpdateMode()
    val ours = new Run(mode, way)
    ours.views()
    assert(this.counts(sql) == counts, sql)
    val batches = new Generator(seed).batches(if (all) 6 else 4)
    val emitted = ours.emitted(sql, batches)(_ => ())
    val expected = sparks(sql, mode, batches, way)
    assert(emitted.size == expected.size)
    assert(expected.exists(_.nonEmpty), "no results")
    for ((batch, i) <- emitted.zip(expected).zipWithIndex) assert(batch._1 == batch._2, s"in batch $i of $sql")
    if (mode == OutputMode.Update() && !sql.contains("t.ts")) { // else late rows are missing
      val complete = ours.complete(sql)
      tables(batches.flatten)
      val _ = assert(complete == bag(session.sql(sql)), s"complete result of $sql")
    }
  }

  private def sparks(
      sql: String,
      mode: OutputMode,
      batches: Seq[Seq[Event]],
      way: PlayedQuery.Way
  ): Seq[Map[Seq[Any], Int]] =
    withConf("spark.joinless.enabled" -> "false")(new Run(mode, way).emitted(sql, batches)(_ => ()))

  private def bag(df: DataFrame): Map[Seq[Any], Int] = bag(BatchSql.rows(df))

  private def bag(rows: Seq[Row]): Map[Seq[Any], Int] = rows.map(_.toSeq).groupMapReduce(identity)(_ => 1)(_ + _)

  private def tables(events: Seq[Event]): Unit =
    PlainGroupsSpec.tables(PlayedStream.of[Event](session).table(events).coalesce(1))

  private def counts(sql: String): Boolean = shapes(sql).exists(_.reduction.isDefined)

  private def shapes(sql: String): Seq[BlockShape] =
    Inspection.optimized(session, Plans.analyzed(session.sql(sql))).collect { case join: JoinFreeJoin => join.shape }

  /** A query over tables that are parts of one stream, so that rows added at once are one batch. */
  final private class Run(mode: OutputMode, way: PlayedQuery.Way = PlayedQuery.AsBatches()) {
    private val events = PlayedStream.of[Event](session)
    private val checkpoint = PlayedQuery.newCheckpoint()

    def views(): Unit = PlainGroupsSpec.tables(events.toDF.withWatermark("ts", "5 seconds"))

    def recorded: Seq[BlockShape] = CommittedState(session, checkpoint, None).operators.ours.map(_.spec.shape)

    def complete(sql: String): Map[Seq[Any], Int] = {
      views()
      bag(session.sql(sql).enumerateFull(checkpoint))
    }

    /** The rows that each batch with new rows or a new watermark emits. The query is restarted in
      * the middle.
      *
      * @param set called before each start, with whether it is the one in the middle
      */
    def emitted(sql: String, batches: Seq[Seq[Event]])(set: Boolean => Unit): Seq[Map[Seq[Any], Int]] =
      withConf("spark.joinless.aggregates.enabled" -> "true")(emittedOf(sql, batches)(set))

    private def emittedOf(sql: String, batches: Seq[Seq[Event]])(set: Boolean => Unit): Seq[Map[Seq[Any], Int]] = {
      var starts = 0
      val played = new PlayedQuery(Seq(events), way, mode, checkpoint = checkpoint)({
        set(starts > 0)
        starts += 1
        views()
        session.sql(sql)
      })
      try batches.zipWithIndex.flatMap { case (batch, i) =>
          if (i == batches.size / 2) played.restart()
          events.add(batch: _*)
          played.next().map(batch => bag(batch.rows))
        }
      finally played.close()
    }
  }
}

private object PlainGroupsSpec {

  /** Seeds of random queries for which counting would save nothing: keys and functions over several
    * relations read all stored columns.
    */
  val AllColumnsProjected: Set[Int] = Set(42, 74, 75, 90)

  final case class Event(tag: String, k: Integer, g: Integer, x: java.lang.Long, d: java.lang.Double, ts: Timestamp)

  implicit val events: Encoder[Event] = Encoders.product[Event]

  /** The tables of which such rows are parts. */
  def tables(all: DataFrame): Unit = {
    all.where("tag = 't'").select("k", "g", "x", "d", "ts").createOrReplaceTempView("t")
    all.where("tag = 'u'").select("k", "g").createOrReplaceTempView("u")
    all.where("tag = 'a'").selectExpr("k", "g AS y").createOrReplaceTempView("a")
  }

  val Path = "FROM t JOIN u ON t.k = u.k JOIN a ON u.g = a.k"

  /** The same; between its joins, Spark alone loses no row whose time is past the watermark. */
  val TimeLast = "FROM u JOIN a ON u.g = a.k JOIN t ON t.k = u.k"

  /** A GROUP BY whose functions can be computed from counts. */
  final class RandomGroups(seed: Long) {
    private val rng = new Random(seed)
    private def one[A](all: A*): A = all(rng.nextInt(all.size))
    private def some[A](most: Int, all: Seq[A]): Seq[A] = rng.shuffle(all).take(1 + rng.nextInt(most))

    /** FROM and WHERE, then the columns that are integers. */
    private val (from, columns) = one(
      Path -> Seq("t.k", "t.g", "u.k", "u.g", "a.y"),
      "FROM t JOIN u ON t.k = u.k JOIN a ON t.k = a.k" -> Seq("t.k", "t.g", "u.g", "a.y"),
      "FROM t JOIN u ON t.k = u.k AND t.g = u.g JOIN a ON u.g = a.k" -> Seq("t.k", "t.g", "a.k", "a.y"),
      s"$Path WHERE t.g <= a.y" -> Seq("t.k", "t.g", "u.g", "a.y"),
      "FROM t JOIN a ON t.k = a.k JOIN t s ON a.y = s.k" -> Seq("t.g", "a.k", "s.k", "s.g"),
      "FROM a JOIN a b ON a.y = b.k JOIN a c ON b.y = c.k JOIN u ON c.y = u.k" -> Seq(
        "a.k",
        "b.k",
        "b.y",
        "c.y",
        "u.g"
      ),
      "FROM t JOIN u ON t.k <=> u.k JOIN a ON u.g = a.k WHERE t.x > 0 OR a.y > 1" -> Seq("t.g", "u.k", "u.g", "a.y")
    )

    private def key: String =
      one(one(columns: _*), s"${one(columns: _*)} % 2", s"${one(columns: _*)} + ${one(columns: _*)}")

    private def number: String = one(
      one(columns: _*),
      s"CAST(${one(columns: _*)} AS BIGINT) * ${one(columns: _*)}",
      s"CAST(${one(columns: _*)} AS DECIMAL(8, 2)) - ${one(columns: _*)}",
      s"CASE WHEN ${one(columns: _*)} > 0 THEN ${one(columns: _*)} ELSE 0 END",
      s"CASE WHEN ${one(columns: _*)} = 1 THEN ${one(columns: _*)} END",
      s"LENGTH(${one(columns: _*)} || '-' || ${one(columns: _*)})"
    )

    private def function: String = one(
      "COUNT(*)",
      s"COUNT($number)",
      s"SUM($number)",
      s"AVG($number)",
      s"SUM($number) FILTER (WHERE ${one(columns: _*)} > 0)",
      s"COUNT(*) FILTER (WHERE ${one(columns: _*)} < ${one(columns: _*)})",
      s"MIN($number)",
      s"MAX(${one(columns: _*)} - ${one(columns: _*)})"
    )

    val sql: String = {
      val keys = if (rng.nextInt(6) == 0) Nil else some(2, Seq.fill(3)(key)).distinct
      val functions = "COUNT(*)" +: Seq.fill(1 + rng.nextInt(4))(function)
      val list = keys.zipWithIndex.map { case (k, i) => s"$k AS k$i" } ++
        functions.zipWithIndex.map { case (f, i) => s"$f AS f$i" }
      s"SELECT ${list.mkString(", ")} $from" + (if (keys.isEmpty) "" else s" GROUP BY ${keys.mkString(", ")}")
    }
  }

  /** Few values, so that rows match and are equal; some rows are late. */
  final class Generator(seed: Long) {
    private val rng = new Random(seed)

    def batches(number: Int): Seq[Seq[Event]] = Seq.tabulate(number) { i =>
      Seq.fill(6 + rng.nextInt(10))(event(10L * i))
    }

    private def event(second: Long): Event = {
      def int(n: Int): Integer = if (rng.nextInt(8) == 0) null else rng.nextInt(n)
      val x: java.lang.Long = if (rng.nextInt(6) == 0) null else Seq(1L, -1L, 7L, 1L << 40)(rng.nextInt(4))
      val at = math.max(0L, second + rng.nextInt(10) - (if (rng.nextInt(6) == 0) 15 else 0))
      val tag = Seq("t", "u", "a")(rng.nextInt(3))
      Event(tag, int(3), int(3), x, rng.nextInt(16) / 8.0, new Timestamp(1000L * at))
    }
  }
}
