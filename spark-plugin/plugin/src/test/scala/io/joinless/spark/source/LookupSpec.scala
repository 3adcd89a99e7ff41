package io.joinless.spark.source

import io.joinless.spark.SharedSpark
import io.joinless.spark.api._
import io.joinless.spark.batches.{PlayedQuery, PlayedStream}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.functions.expr
import org.apache.spark.sql.{DataFrame, Row}
import org.scalatest.funsuite.AnyFunSuite

/** Rows of complete results by values of their columns, against Spark's own filter of all rows: of
  * a running query, and of its checkpoint when it has ended.
  */
class LookupSpec extends AnyFunSuite with SharedSpark {
  import LookupSpec._

  private val from = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val plain = s"SELECT a.src, b.src AS via, b.dst, c.dst AS last, a.name, c.day, b.small, c.money $from"

  private val conditions = Seq(
    "via = 3",
    "via IN (1, 2, 5)",
    "via IN (1, 2, 5) AND dst = 2",
    "via = 2 AND src = 1",
    "via = 4 AND last > 2 AND small <> 1",
    "src = 1",
    "src IS NULL",
    "name = 'a name of node 3'",
    "name IN ('', 'a name of node 1') AND via = 1",
    "name <=> NULL AND via = 1",
    "day = DATE '2024-01-03'",
    "small = 1 AND dst IN (1, 2)",
    "money = 2.50 AND dst = 4",
    "via = 77",
    "via = 1 AND via = 2",
    "dst IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) OR dst IS NULL",
    "via = last"
  )

  /** Plays a query, and asks it while it runs and when it has ended. */
  private def asked(sql: String, changes: Boolean, cells: Int)(ask: DataFrame => Unit): Unit =
    played(sql, changes, cells) { (full, checkpoint) =>
      ask(full()); () => { ask(full()); ask(spark.read.format("joinless").load(checkpoint)) }
    }

  /** Plays a query; `use` gets its result and checkpoint, and returns what is done when it has
    * ended.
    */
  private def played(sql: String, changes: Boolean, cells: Int)(use: (() => DataFrame, String) => () => Unit): Unit = {
    val edges = PlayedStream.of[Node](spark)(org.apache.spark.sql.Encoders.product[Node])
    def query = {
      val stream = edges.toDF.withColumn("money", expr("CAST(money AS DECIMAL(9, 2))"))
      (if (changes) stream.weightedChangelog("n") else stream.drop("n")).createOrReplaceTempView("e")
      spark.sql(sql)
    }
    val random = new scala.util.Random(cells)
    val played = withConf("spark.sql.shuffle.partitions" -> cells.toString) {
      new PlayedQuery(Seq(edges), PlayedQuery.AsBatches())(if (changes) query.incrementalEnumerate("weight") else query)
    }
    for (_ <- 1 to 3) {
      edges.add(Seq.fill(14)(Node.random(random)): _*)
      val _ = played.next()
    }
    val afterwards = use(() => query.enumerateFull(played.checkpoint), played.checkpoint)
    played.close()
    afterwards()
  }

  private def bag(rows: Array[Row]): Map[Row, Int] = rows.toSeq.groupMapReduce(identity)(_ => 1)(_ + _)

  for {
    (kind, sql, changes, cells) <- Seq(
      ("changes", plain, true, 6),
      ("changes, with a residual", s"$plain WHERE a.src + b.dst <> c.dst + 1", true, 4),
      ("appended", plain, false, 1)
    )
  } test(s"oracle_ rows by values: $cells cells, $kind") {
    var found = 0
    asked(sql, changes, cells) { full =>
      val all = full.collect()
      spark.createDataFrame(java.util.Arrays.asList(all: _*), full.schema).createOrReplaceTempView("all_rows")
      for (condition <- if (kind == "changes") conditions else conditions.take(9)) {
        val rows = full.where(condition).collect()
        val expected = spark.sql("SELECT * FROM all_rows").where(condition).collect()
        assert(bag(rows) == bag(expected), condition)
        if (condition.length < 12) assert(full.where(condition).count() == expected.length, condition)
        found += rows.length
      }
    }
    assert(found > 100, found)
  }

  test("values are looked up in a running query's trees, without its log") {
    played(plain, changes = true, cells = 4) { (full, checkpoint) =>
      val result = full()
      def read() = ("via = 3" +: Seq("src = 1 AND small > 0", "dst IN (1, 2)")).map(c => bag(result.where(c).collect()))
      def count() = result.where("via = 3").count()
      val (before, number) = (read(), count())
      val state = java.nio.file.Paths.get(checkpoint, "state")
      java.nio.file.Files.move(state, state.resolveSibling("hidden"))
      val gone = intercept[SparkThrowable](result.where("src > 1").collect())
      assert(gone.getCondition == "JOINLESS_BATCH_NOT_AVAILABLE.STATE_GONE")
      val again = (read(), count())
      assert(!java.nio.file.Files.exists(state), "a failed read makes no folder")
      java.nio.file.Files.move(state.resolveSibling("hidden"), state)
      assert(again == (before -> number) && number > 5)
      () => ()
    }
  }

  test("rows of the batch before are looked up in trees that have one more, if it only inserted rows") {
    val edges = PlayedStream.of[Node](spark)(org.apache.spark.sql.Encoders.product[Node])
    val random = new scala.util.Random(5)
    def query = {
      edges.toDF.withColumn("money", org.apache.spark.sql.functions.expr("CAST(money AS DECIMAL(9, 2))"))
        .drop("n").createOrReplaceTempView("e")
      spark.sql(plain)
    }
    val played = withConf("spark.sql.shuffle.partitions" -> "4")(
      new PlayedQuery(Seq(edges), PlayedQuery.AsBatches())(query)
    )
    def batch() = {
      edges.add(Seq.fill(12)(Node.random(random)): _*)
      played.next()
    }
    val (_, _) = (batch(), batch())
    val result = query.enumerateFull(played.checkpoint)
    val expected = result.collect()
    val _ = batch()
    val state = java.nio.file.Paths.get(played.checkpoint, "state")
    java.nio.file.Files.move(state, state.resolveSibling("hidden"))
    val found = Seq("via", "dst").map(c => c -> (0 to 6).map(v => bag(result.where(s"$c = $v").collect())))
    val counts = (0 to 6).map(v => result.where(s"via = $v").count())
    java.nio.file.Files.move(state.resolveSibling("hidden"), state)
    for ((column, byValue) <- found; v <- 0 to 6)
      assert(byValue(v) == bag(expected.filter(_.getAs[Any](column).toString == v.toString)), s"$column = $v")
    assert(counts == (0 to 6).map(v => expected.count(_.getAs[Int]("via") == v)))
    assert(query.enumerateFull(played.checkpoint).count() > expected.length && expected.nonEmpty)
    played.close()
  }

  private def refused(body: => Any): String =
    intercept[SparkThrowable](body).getCondition.stripPrefix("JOINLESS_LOOKUP.")

  test("oracle_ rows by a key, by many keys, and how often a row is there") {
    asked(plain, changes = true, cells = 4) { full =>
      val all = full.collect()
      def those(p: Row => Boolean) = bag(all.filter(p))
      val via = all.head.getAs[Int]("via")
      assert(bag(full.lookup(Map("via" -> via)).collect()) == those(_.getAs[Int]("via") == via))
      assert(bag(full.lookup(Map("VIA" -> via.toDouble)).collect()) == those(_.getAs[Int]("via") == via))
      assert(bag(full.lookup(Map[String, Any]("src" -> null, "via" -> via.toLong)).collect()) ==
        those(r => r.isNullAt(0) && r.getAs[Int]("via") == via))
      assert(bag(full.lookup(Map("day" -> "2024-01-02")).collect()) ==
        those(_.getAs[Any]("day").toString == "2024-01-02"))
      val pairs = all.map(r => (Option(r.get(0)).map(_.toString.toInt), r.getAs[Int]("dst"))).distinct.take(5).toSeq
      def isPair(r: Row) = pairs.contains((Option(r.get(0)).map(_.toString.toInt), r.getAs[Int]("dst")))
      val keys = spark.createDataFrame(pairs).toDF("src", "dst")
      assert(bag(full.lookup(keys).collect()) == those(isPair))
      assert(full.lookup(keys).count() == all.count(isPair))
      assert(full.lookup(keys.where("dst > 99")).count() == 0)
      val many = spark.range(-2000, 3).selectExpr("id AS via")
      assert(bag(full.lookup(many).collect()) == those(_.getAs[Int]("via") <= 2))
      val named = spark.range(1200).selectExpr("IF(id = 0, 'A NAME of node 3', STRING(id)) AS name")
      for (keys <- Seq(named, named.where("name LIKE 'A%'")))
        assert(bag(full.withColumn("name", expr("name COLLATE UTF8_LCASE")).lookup(keys).collect()) ==
          those(_.getAs[Any]("name") == "a name of node 3"))
      for ((row, n) <- bag(all).take(3)) {
        val values = row.schema.fieldNames.zip(row.toSeq).toMap
        assert(full.weightOf(values) == n)
        val _ = assert(full.weightOf(values + ("last" -> 99)) == 0)
      }
    }
  }

  test("look-ups that are refused") {
    asked(plain, changes = false, cells = 1) { full =>
      assert(refused(full.lookup(Map.empty[String, Any])) == "NO_COLUMN")
      val unknown = intercept[SparkThrowable](full.lookup(Map("viaa" -> 1)))
      assert(unknown.asInstanceOf[Exception].getMessage.contains("Did you mean via?"))
      for (value <- Seq[Any]("x", 7.5, 1L << 40, true, java.sql.Date.valueOf("2024-01-01")))
        assert(refused(full.lookup(Map("via" -> value))) == "VALUE", value)
      assert(refused(full.lookup(Map("money" -> 0.001))) == "VALUE")
      assert(refused(full.lookup(spark.range(3).selectExpr("id / 2 AS via"))) == "VALUE")
      assert(refused(full.lookup(spark.range(3).toDF("x"))) == "UNKNOWN_COLUMN")
      for (keys <- Seq(spark.range(3), spark.range(2000)); of <- Seq("CAST(id AS STRING)", "id > 1", "array(id)"))
        assert(refused(full.lookup(keys.selectExpr(s"$of AS via"))) == "KEY_TYPE", of)
      assert(refused(full.weightOf(Map("via" -> 1))) == "ROW")
      assert(refused(full.selectExpr("src AS x", "via AS x").lookup(Map("x" -> 1))) == "AMBIGUOUS_COLUMN")
      val _ = assert(refused(spark.range(3).toDF("x").lookup(Map("x" -> 1))) == "NO_RESULT")
    }
    val stream = PlayedStream.of[Node](spark)(org.apache.spark.sql.Encoders.product[Node]).toDF
    assert(refused(stream.lookup(Map("src" -> 1))) == "STREAM")
  }

  test("plan_ a scan says what a look-up costs") {
    played(s"$plain WHERE a.small < 3", changes = false, cells = 4) { (full, _) =>
      def costs(condition: String) =
        "looked up while the query runs: ([^;]*);".r.findFirstMatchIn(plan(full(), condition)).fold("none")(_.group(1))
      assert(costs("via = 3") == "by the key (a.dst), at the cost of the rows")
      assert(costs("dst IN (3, 4)") == "by the key (b.dst), at the cost of the rows")
      val both = "by one of the keys (a.dst), (b.dst), whose rows are compared with the other values"
      assert(Set(both, both.replace("(a.dst), (b.dst)", "(b.dst), (a.dst)"))(costs("dst = 3 AND via = 4")))
      assert(costs("via = 3 AND src = 4") == "by the key (a.dst), whose rows are compared with the other values")
      assert(costs("src = 4").startsWith("by a scan of a, since no key of the join tree ("))
      assert(costs("src > 4") == "none")
      val rejecting = plan(full(), "via = 3 AND src > 4")
      assert(rejecting.contains("; conditions reject some of the rows; per value "))
      () => ()
    }
  }

  private def plan(full: DataFrame, condition: String): String =
    full.where(condition).queryExecution.executedPlan.toString

  test("plan_ only cells that can hold the values are asked") {
    asked(plain, changes = false, cells = 6) { full =>
      def partitions(condition: String) = full.where(condition).select("src").rdd.getNumPartitions
      assert(full.rdd.getNumPartitions == 6)
      val (one, both) = (partitions("via = 3"), partitions("via = 3 AND dst = 4"))
      assert(one < 6 && both == 1, s"$one, $both")
      assert(partitions("src = 3") == 6)
      val _ = assert(full.where("via IS NULL").count() == 0)
    }
  }
}

object LookupSpec {
  final case class Node(
      src: java.lang.Integer,
      dst: Int,
      name: String,
      day: java.sql.Date,
      small: Short,
      money: java.math.BigDecimal,
      n: Int
  )

  object Node {
    def random(random: scala.util.Random): Node = Node(
      if (random.nextInt(5) == 0) null else random.nextInt(6),
      random.nextInt(6),
      random.nextInt(6) match { case 0 => null; case 1 => ""; case i => s"a name of node $i" },
      java.sql.Date.valueOf(s"2024-01-0${1 + random.nextInt(5)}"),
      random.nextInt(3).toShort,
      java.math.BigDecimal.valueOf(random.nextInt(4) * 125L, 2),
      1 + random.nextInt(2)
    )
  }
}
