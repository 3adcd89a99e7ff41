package io.joinless.spark.compile

import io.joinless.spark.TestFolders
import io.joinless.spark.changes.Changes
import io.joinless.spark.explain.JoinTreeText
import io.joinless.spark.plans.marks.Changelog
import io.joinless.spark.plans.nodes.{DeltaRows, JoinFreeJoin}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.StreamingPlans
import io.joinless.spark.spec.{BlockShape, BlockSpec}
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.joinless.Plans
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{AnalysisException, DataFrame, Row}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The compiled plans of queries whose changes are requested, before any of them runs. */
class DeltaCompilerSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    stream("e", "src BIGINT, dst BIGINT")
    stream("feed", "id BIGINT, customer BIGINT, amount INT, _change_type STRING, _commit_version BIGINT")
    stream("counts", "customer BIGINT, city STRING, n INT")
    stream("timed", "id BIGINT, at TIMESTAMP, _change_type STRING")
    Changes.changelog(spark.table("feed"), None, None).createOrReplaceTempView("orders")
    Changes.changelog(spark.table("counts"), None, Some("n")).createOrReplaceTempView("customers")
    Changes.changelog(spark.table("timed").withWatermark("at", "1 hour"), None, None).createOrReplaceTempView("late")
    spark.range(10).selectExpr("id AS customer", "id % 3 AS class").createOrReplaceTempView("classes")
  }

  private def compiled(df: DataFrame): LogicalPlan = DeltaCompilation(spark, Plans.analyzed(df))

  private def deltas(sql: String, form: DeltaForm = DeltaForm.ChangeType): DataFrame =
    Changes.deltas(spark.sql(sql), form)

  private def spec(sql: String): BlockShape =
    compiled(deltas(sql)).collectFirst { case block: JoinFreeJoin => block.shape }.get

  private def reason(sql: String): String =
    DeltaCompilation.attempt(spark, Plans.analyzed(deltas(sql))).fold(_.code.name, plan => fail(plan.treeString))

  private def error(body: => Any): String = intercept[AnalysisException](body).getCondition

  private val joined = "SELECT o.id, c.city FROM orders o JOIN customers c ON o.customer = c.customer"

  test("a marked relation projects its plain columns only") {
    assert(spark.table("orders").columns.toSeq == Seq("id", "customer", "amount"))
    assert(spark.table("customers").columns.toSeq == Seq("customer", "city"))
  }

  test("plan_ a join of two changelogs is one block with one node of deltas above") {
    val plan = compiled(deltas(joined))
    assert(blocks(plan).size == 1)
    val block = blocks(plan).head
    assert(block.deltas && block.shape.inputs.forall(_.retractable))
    assert(block.shape.relations.map(_.name) == Seq("o", "c"))
    assert(plan.output.map(_.name) == Seq("id", "city", "_change_type"))
    assert(plan.isInstanceOf[DeltaRows] && plan.asInstanceOf[DeltaRows].projectedColumns == Seq(0, 1))
    assert(!plan.exists(_.isInstanceOf[Changelog]))
    assert(block.scans.forall(_.output.last.name == "_weight"))
  }

  test("plan_ append-only relations beside changelogs have inputs of their own") {
    val mixed = spec("SELECT o.id, e.dst FROM orders o JOIN e ON o.customer = e.src")
    assert(mixed.inputs.map(_.retractable) == Seq(true, false))
  }

  test("plan_ filters reach the scans, and columns nobody needs are pruned") {
    val found = spec("SELECT o.id FROM orders o JOIN customers c ON o.customer = c.customer WHERE o.amount > 5")
    assert(found.inputs(0).columns.map(_.name) == Seq("id", "customer"))
    assert(found.inputs(1).columns.map(_.name) == Seq("customer"))
    assert(found.residuals.isEmpty)
  }

  test("plan_ one relation is a block") {
    assert(spec("SELECT id FROM orders WHERE amount > 5").relations.size == 1)
    assert(spec("SELECT src FROM e").relations.size == 1)
  }

  test("plan_ a self-join of a view is two roles of one input") {
    val found = spec("SELECT a.id, b.id AS other FROM orders a JOIN orders b ON a.customer = b.customer")
    assert(found.inputs.size == 1 && found.relations.map(_.input) == Seq(0, 0))
  }

  test("plan_ common table expressions, unions and computed columns") {
    val found = spec(
      "WITH big AS (SELECT id * 2 AS x, customer FROM orders WHERE amount > 5) " +
        "SELECT b.x + c.x AS s FROM big b JOIN (SELECT * FROM big UNION ALL SELECT src, dst FROM e) c ON b.customer = c.customer"
    )
    assert(found.relations.size == 2 && found.inputs.forall(_.retractable))
    assert(found.attributes.size == 1)
  }

  test("plan_ the form of weights") {
    val plan = compiled(deltas(joined, DeltaForm.Weight))
    assert(plan.output.map(a => a.name -> a.dataType.sql).last == ("_weight" -> "BIGINT"))
  }

  test("plan_ SQL forms are the method") {
    val function = spark.sql(s"SELECT * FROM incremental_enumerate(TABLE($joined))")
    val hint = spark.sql(joined.replace("SELECT", "SELECT /*+ INCREMENTAL */"))
    val weights = spark.sql(s"SELECT * FROM incremental_enumerate(TABLE($joined), 'weight')")
    val method = spark.sql(joined).hint("incremental")
    val expected = compiled(deltas(joined)).collectFirst { case b: JoinFreeJoin => b.shape }
    for (df <- Seq(function, hint, weights, method)) {
      assert(compiled(df).collectFirst { case b: JoinFreeJoin => b.shape } == expected)
    }
    assert(function.columns.toSeq == Seq("id", "city", "_change_type"))
    assert(hint.columns.toSeq == function.columns.toSeq && method.columns.toSeq == function.columns.toSeq)
    assert(weights.columns.last == "_weight")
  }

  test("plan_ operators above the changes are Spark's") {
    val plan = compiled(deltas(joined).filter("_change_type = 'delete'").selectExpr("id + 1 AS x"))
    assert(plan.isInstanceOf[UnaryNode] && blocks(plan).size == 1)
  }

  private val triangle = "SELECT a.src FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"

  test("a cycle is joined by intersection") {
    val blocks = compiled(deltas(triangle)).collect { case join: JoinFreeJoin => join.shape }
    assert(blocks.map(_.attributes.size) == Seq(3) && blocks.forall(b => b.isBag && b.residuals.isEmpty))
    val text = JoinTreeText(BlockSpec(blocks.head, IndexedSeq.fill(3)(1)))
    assert(text.contains("joined by intersection on [a.src, a.dst, b.dst], class cyclic"))
    assert(text.contains("index I(b) [src, dst]: rows of b by src and dst"))
  }

  test("of a total over a triangle nothing but the total is kept; of more than that, results are listed") {
    def shape(select: String, more: String = ""): BlockShape =
      spec(triangle.replace("a.src FROM", s"$select FROM") + more)
    for (
      select <-
        Seq("COUNT(*) AS n", "SUM(a.src) AS s, AVG(CAST(b.dst AS INT)) AS d", "COUNT(IF(c.src > 5, 1, NULL)) AS n")
    ) {
      val total = shape(select)
      assert(total.isBag && total.reduction.exists(_.isTotal), select)
      val text = JoinTreeText(BlockSpec(total, IndexedSeq.fill(3)(1)))
      assert(text.contains("cost: O(sqrt(N)) amortised per change, and never more than"), text)
    }
    val hung = spec(
      "SELECT COUNT(*) AS n FROM e a, e b, e c, orders o " +
        "WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src AND o.customer = a.src"
    )
    assert(hung.reduction.exists(r => r.isTotal && r.components.map(_.relations.size).sorted == Seq(1, 1, 2)))
    // each triangle once: the conditions are filters of relations
    for (once <- Seq("a.src < b.src AND b.src < c.src", "a.src < b.dst", "(a.src < c.src OR a.src & c.src > 4)")) {
      val total = shape("COUNT(*) AS n", s" AND $once")
      assert(total.reduction.exists(_.isTotal) && total.residuals.isEmpty, once)
    }
    val perVertex = shape("b.dst, COUNT(*) AS n", " GROUP BY b.dst")
    val perEdge = shape("a.src, a.dst, COUNT(*) AS n, SUM(c.src) AS s", " GROUP BY a.src, a.dst")
    assert(Seq(perVertex, perEdge).forall(_.reduction.exists(_.isTotal)))
    val walks = "one step per row of the shorter of two lists for one of"
    for ((total, others) <- Seq(perVertex -> "a", perEdge -> "b or c"))
      assert(JoinTreeText(BlockSpec(total, IndexedSeq.fill(3)(1))).contains(
        s"O(sqrt(N)) amortised per change, $walks $others"
      ))
    val others = Seq(
      shape("a.src, b.src, c.src, COUNT(*) AS n", " GROUP BY a.src, b.src, c.src"),
      shape("COUNT(*) AS n", " AND a.src < b.src + c.src"),
      shape("a.src + b.src AS x, COUNT(*) AS n", " GROUP BY a.src + b.src + c.src, a.src + b.src"),
      spec(
        "SELECT COUNT(*) AS n FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = d.src AND d.dst = a.src"
      )
    )
    assert(others.forall(other => other.isBag && other.reduction.isEmpty))
  }

  test("with cyclic joins switched off, a cycle is opened: the condition that closes it is checked on each result") {
    val blocks = withConf("spark.joinless.cyclicJoins.enabled" -> "false") {
      compiled(deltas(triangle)).collect { case join: JoinFreeJoin => join.shape }
    }
    assert(blocks.map(_.attributes.size) == Seq(2) && blocks.map(_.residuals.size) == Seq(1))
    val text = JoinTreeText(BlockSpec(blocks.head, IndexedSeq.fill(2)(1)))
    assert(text.contains("the equi-join conditions are a cycle: c.dst = a.src is checked on each result of the others"))
  }

  test("why not: a map that is grouped by is named as the query has it") {
    def attempt(key: String) = DeltaCompilation.attempt(
      spark,
      Plans.analyzed(deltas(s"SELECT m, COUNT(*) AS n FROM (SELECT $key AS m FROM orders) GROUP BY m"))
    )
    val map = "map(id, customer)"
    for (key <- Seq(map, s"map(id, $map)", s"array($map)", s"(IF((id > 2L), named_struct('f', $map), NULL))")) {
      val reason = attempt(key).left.toOption.get
      assert(reason.code.name == "UNSUPPORTED_GROUP_KEY")
      assert(reason.sentence.startsWith(s"The grouping column $key has the type "), reason.sentence)
    }
    assert(attempt(s"array_sort(map_entries($map))").isRight)
  }

  test("why not: queries whose changes cannot be emitted") {
    assert(reason(
      "SELECT COUNT(*) AS n FROM orders GROUP BY session_window(timestamp_seconds(id), '1 minute')"
    ) == "UNSUPPORTED_AGGREGATE")
    assert(reason(
      "SELECT city, count_if(now() > '2020-01-01') AS n FROM customers GROUP BY city"
    ) == "TIME_DEPENDENT_EXPRESSION")
    assert(reason("SELECT collate(city, 'UNICODE_CI') AS c FROM customers GROUP BY 1") == "UNSUPPORTED_GROUP_KEY")
    assert(reason("SELECT o.id FROM (SELECT *, rand() AS r FROM orders) o LEFT JOIN customers c ON o.r = c.customer") ==
      "NONDETERMINISTIC_EXPRESSION")
    assert(reason("SELECT id FROM orders TABLESAMPLE (10 PERCENT)") == "UNSUPPORTED_OPERATOR")
    assert(reason("SELECT id FROM orders UNION ALL SELECT CAST(1000 * rand() AS BIGINT)") == "STATIC_PART_OF_UNION")
    assert(reason("SELECT id FROM orders WHERE rand() < 0.5") == "NONDETERMINISTIC_EXPRESSION")
    assert(reason("SELECT id, uuid() AS u FROM orders") == "NONDETERMINISTIC_EXPRESSION")
    assert(reason("SELECT id FROM late WHERE at > current_timestamp()") == "WATERMARK_ON_CHANGELOG")
    assert(
      reason("SELECT id FROM orders WHERE timestamp_seconds(id) > current_timestamp()") == "TIME_DEPENDENT_EXPRESSION"
    )
    assert(
      reason(
        "SELECT o.id FROM orders o JOIN (SELECT * FROM classes WHERE rand() < 0.5) k ON o.customer = k.customer"
      ) == "NONDETERMINISTIC_EXPRESSION"
    )
    withConf("spark.joinless.enabled" -> "false")(assert(reason("SELECT id FROM orders") == "DISABLED"))
  }

  test("why not: a condition whose text is too long to be recorded") {
    val long = "x" * (1 << 20)
    val sql =
      s"SELECT o.id FROM orders o JOIN customers c ON o.customer = c.customer AND concat(o.id, c.city) <> '$long'"
    assert(reason(sql) == "RECORD_TOO_LARGE")
    val said = DeltaCompilation.attempt(spark, Plans.analyzed(deltas(sql))).swap.toOption.get.sentence
    assert(said.contains("the join of o, c") && said.contains("a name or condition has 10"), said)
    assert(spec(sql.replace(long, long.take(1000))).residuals.size == 1)
  }

  test("what a delete must meet is the same text for the same query, and another one for another filter or value") {
    def meaning(sql: String) = spec(sql).meaning.get
    val first = meaning(
      "SELECT o.id + 1 AS n, c.city FROM orders o JOIN customers c ON o.customer = c.customer WHERE o.amount > 5"
    )
    assert(first.rows.map(_.get.filters) == Seq(Seq("(amount > 5)", "(amount IS NOT NULL)"), Seq.empty))
    val nested = "SELECT x.id + 1 AS m, y.town FROM (SELECT * FROM orders WHERE amount > 5) x JOIN " +
      "(SELECT customer AS k, city AS town FROM customers) y ON x.customer = y.k"
    assert(meaning(nested) == first)
    val others = Seq(
      nested.replace("> 5", "> 6"),
      nested.replace("x.id + 1", "x.id + 2"),
      nested.replace("city AS town", "upper(city) AS town"),
      nested + " AND x.id < length(y.town)"
    ).map(meaning)
    assert((first +: others).distinct.size == 5)
    assert(spec("SELECT e.src, f.dst FROM e JOIN e f ON e.dst = f.src").meaning.isEmpty)
    val lambda =
      "SELECT transform(array(o.id), v -> v + o.amount) AS n FROM orders o JOIN customers c ON o.customer = c.customer"
    assert(meaning(lambda) == meaning(lambda))
  }

  test("a static table that may change and stands above the joins is refused, and may be joined at arrival") {
    val rows = spark.sparkContext.parallelize(Seq.empty[Row], 1)
    spark.createDataFrame(rows, StructType.fromDDL("k BIGINT, class BIGINT")).createOrReplaceTempView("changing")
    val sql = "SELECT a.src, k.class FROM e a JOIN e b ON a.dst = b.src JOIN changing k ON k.k = a.src"
    assert(reason(sql) == "STATIC_SIDE_ABOVE_JOINS")
    withConf("spark.joinless.staticSides" -> "atArrival")(assert(spec(sql).staticsAtArrival))
    assert(
      !spec("SELECT b.src, k.class FROM e a JOIN changing k ON k.k = a.src JOIN e b ON a.dst = b.src").staticsAtArrival
    )
  }

  test("a key that can fail on rows that have no match yet is refused, or leaves them out") {
    val sql = "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN orders o ON 10 DIV b.dst = o.id"
    assert(reason(sql) == "THROWING_KEY")
    withConf("spark.joinless.keyErrors" -> "null")(assert(spec(sql).relations.size == 3))
  }

  test("time and static tables have their place beside append-only streams") {
    val sql = "SELECT e.src, k.class FROM e JOIN classes k ON e.dst = k.customer WHERE timestamp_seconds(e.src) > now()"
    val plan = compiled(deltas(sql))
    assert(blocks(plan).size == 1 && plan.treeString.contains("now()"))
  }

  test("a changelog without incrementalEnumerate is refused") {
    assert(error(compiled(spark.sql(joined))) == "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE")
    assert(error(compiled(spark.table("orders"))) == "JOINLESS_RETRACTIONS_NOT_REPRESENTABLE")
  }

  test("changes are added, never a whole result") {
    val writer = deltas(joined).writeStream.format("noop").outputMode("complete")
    assert(error(writer.start()) == "JOINLESS_NOT_REWRITTEN")
  }

  test("columns that cannot be change columns, and names that are taken") {
    val feed = spark.table("feed")
    assert(error(Changes.changelog(feed, Some("nothing"), None)) == "JOINLESS_CHANGE_COLUMN.NOT_FOUND")
    assert(error(Changes.changelog(feed, Some("amount"), None)) == "JOINLESS_CHANGE_COLUMN.NOT_A_STRING")
    assert(error(Changes.changelog(feed, None, Some("_change_type"))) == "JOINLESS_CHANGE_COLUMN.NOT_AN_INTEGER")
    assert(error(Changes.changelog(feed.select("_change_type"), None, None)) == "JOINLESS_CHANGE_COLUMN.NO_COLUMNS")
    assert(error(Changes.changelog(spark.range(3).toDF(), None, Some("id"))) == "JOINLESS_NOT_STREAMING")
    assert(error(deltas("SELECT src, 'x' AS _change_type FROM e")) == "JOINLESS_RESERVED_COLUMN")
    val unmarked = intercept[AnalysisException](deltas("SELECT id, _change_type FROM feed"))
    assert(unmarked.getMessage.contains("UNMARKED_CHANGE_FEED"), unmarked.getMessage)
    assert(error(spark.sql(s"SELECT * FROM incremental_enumerate(TABLE($joined), 'rows')")) == "JOINLESS_DELTA_FORM")
  }

  test("a source goes by the name that users know, and an error about a wrong column has the right ones") {
    def refused(reader: org.apache.spark.sql.DataFrame, column: String): String =
      intercept[SparkThrowable](Changes.changelog(reader, Some(column), None)) match {
        case e: Exception => e.getMessage
        case other => other.toString
      }
    val folder = TestFolders.create("names").toString
    val files = spark.readStream.schema("_change_kind STRING, id INT, customer INT").csv(folder)
    val error = refused(files, "_change_type")
    assert(error.contains(s"The column _change_type of $folder cannot be a change column."), error)
    assert(error.contains("there are: _change_kind, id, customer. Did you mean _change_kind?"), error)
    assert(refused(files.filter("id > 1").as("orders"), "weight").contains("The column weight of orders cannot"))
    assert(!refused(files, "nothing").contains("Did you mean"))
    val rate = refused(spark.readStream.format("rate").load(), "_change_type")
    assert(rate.contains("of the source rate cannot") && rate.contains("there are: timestamp, value."), rate)
  }
}
