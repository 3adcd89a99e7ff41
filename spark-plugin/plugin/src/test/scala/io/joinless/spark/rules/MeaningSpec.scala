package io.joinless.spark.rules

import io.joinless.spark.TestFolders
import io.joinless.spark.plans.nodes.JoinFreeJoin
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.connector.read.streaming.{Offset, SparkDataStream}
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.{Row, classic}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The rewritten plan has the meaning of the query: its blocks evaluated by [[Meaning]] give the
  * rows of Spark's batch join.
  */
class MeaningSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    // Few values, so that joins have matches; NULLs, both zeros, NaNs of two kinds, strings that
    // collations equate.
    val values = """SELECT
      CAST(id AS INT) AS id,
      IF(h1 = 0, NULL, h1) AS src,
      IF(h2 = 0, NULL, h2) AS dst,
      CAST(h1 AS INT) AS i,
      IF(h2 = 1, NULL, CAST(h2 AS SMALLINT)) AS sh,
      CASE h3 WHEN 0 THEN CAST('NaN' AS DOUBLE) WHEN 1 THEN 0.0D WHEN 2 THEN -0.0D WHEN 3 THEN NULL ELSE CAST(h3 AS DOUBLE) END AS d,
      CASE h2 WHEN 0 THEN CAST('NaN' AS FLOAT) WHEN 1 THEN CAST(0.0 AS FLOAT) WHEN 2 THEN CAST(-0.0 AS FLOAT) ELSE CAST(h2 AS FLOAT) END AS f,
      CASE h1 WHEN 0 THEN 'a' WHEN 1 THEN 'A' WHEN 2 THEN 'b' WHEN 3 THEN NULL WHEN 4 THEN 'B' ELSE 'a ' END AS s,
      CAST(h2 AS DECIMAL(10, 2)) / 4 AS dec,
      CAST(h3 AS DECIMAL(30, 5)) * -1000000000000000000 AS big,
      TIMESTAMP_SECONDS(h1) AS ts,
      DATE_ADD(DATE'2020-01-01', CAST(h2 AS INT)) AS day,
      h3 % 2 = 0 AS bool,
      CAST(CAST(h1 AS STRING) AS BINARY) AS bin
      FROM (SELECT id, pmod(hash(id, SALT), 6) AS h1, pmod(hash(id, SALT + 1), 6) AS h2, pmod(hash(id, SALT + 2), 6) AS h3 FROM range(ROWS))"""
    Seq("e" -> 11, "f" -> 47, "g" -> 5).foreach { case (name, salt) =>
      val directory = TestFolders.create("meaning").resolve(name).toString
      val table = spark.sql(values.replace("SALT", salt.toString).replace("ROWS", "24"))
      table.coalesce(1).write.parquet(directory)
      spark.read
        .parquet(directory)
        .selectExpr(
          "*",
          "s COLLATE UTF8_LCASE AS ci",
          "s COLLATE UNICODE_CI AS uc",
          "s COLLATE UTF8_BINARY_RTRIM AS rt",
          "IF(src = 2, NULL, struct(i AS x, d AS y)) AS st",
          "array(d, CAST(sh AS DOUBLE), NULL) AS arr",
          "array(s COLLATE UTF8_LCASE) AS cis"
        )
        .createOrReplaceTempView(name)
    }
    spark.range(6).selectExpr("id AS k", "id % 3 AS class").createOrReplaceTempView("dimension")
    val classes = spark.sparkContext.parallelize((0L until 6L).map(k => Row(k, k % 3)), 1)
    spark.createDataFrame(classes, StructType.fromDDL("k BIGINT, class BIGINT")).createOrReplaceTempView("classes")
  }

  private object NoStream extends SparkDataStream {
    override def initialOffset(): Offset = throw new UnsupportedOperationException
    override def deserializeOffset(json: String): Offset = throw new UnsupportedOperationException
    override def commit(end: Offset): Unit = ()
    override def stop(): Unit = ()
  }

  private def streaming(plan: LogicalPlan): LogicalPlan =
    plan.transform { case l: LogicalRelation => l.copy(isStreaming = true, stream = Some(NoStream)) }

  private def still(plan: LogicalPlan): LogicalPlan =
    plan.transform { case l: LogicalRelation => l.copy(isStreaming = false, stream = None) }

  private def rows(plan: LogicalPlan): Seq[Row] = {
    val session = spark.asInstanceOf[classic.SparkSession]
    val execution = new QueryExecution(session, plan)
    session.withActive(execution.executedPlan.executeCollectPublic().toSeq)
  }

  private def meaning(plan: LogicalPlan): LogicalPlan = plan.transformUp { case join: JoinFreeJoin =>
    Meaning.of(join, spark.asInstanceOf[classic.SparkSession])
  }

  private def bag(rows: Seq[Row]): Map[String, Int] = rows.groupBy(_.toString).map { case (row, all) =>
    row -> all.size
  }

  private def differential_(what: String, blockCount: Int = 1)(sql: String): Unit = test(s"differential_ $what") {
    val query = sql.stripMargin.trim
    withConf("spark.joinless.minRelations" -> "2") {
      val rewritten = optimize(streaming(spark.sql(query).queryExecution.analyzed))
      assert(blocks(rewritten).size == blockCount, s"reasons ${reasons(rewritten)}\n$rewritten")
      val expected = bag(spark.sql(query).collect().toSeq)
      val found = bag(rows(meaning(still(rewritten))))
      assert(found == expected, s"\n${PlanText(rewritten)}")
      assert(expected.nonEmpty || what.contains("nothing"), "a test whose result is empty says little")
    }
  }

  private val chain = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  differential_("chain")(s"SELECT a.src, b.src AS via, b.dst, c.dst $chain")
  differential_("chain of different tables")(
    "SELECT a.id, b.id, c.id FROM e a JOIN f b ON a.dst = b.src JOIN g c ON b.dst = c.src"
  )
  differential_("filters per role")(s"SELECT a.src, c.dst $chain WHERE a.src > 2 AND b.id % 2 = 0 AND c.dst < 4")
  differential_("filters that are NULL")(s"SELECT a.id, c.id $chain WHERE a.sh > 1 AND NOT (c.sh > 4)")
  differential_("residuals")(s"SELECT a.src, c.dst $chain WHERE a.src < c.dst AND a.id + b.id <> c.id")
  differential_("residuals with NULLs")(s"SELECT a.id, c.id $chain WHERE a.sh < c.sh OR a.bool")
  differential_("computed output")(s"SELECT a.src + c.dst AS total, upper(b.s), coalesce(a.sh, c.sh) $chain")
  differential_("one place of a self-join takes no NULLs in a null-safe key")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.i <=> b.sh JOIN e c ON b.src <=> c.src WHERE c.src IS NOT NULL AND a.id < 20"
  )
  differential_("null-safe keys")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.dst <=> b.src JOIN f c ON b.dst <=> c.src"
  )
  differential_("null-safe and plain equi-join conditions of one class")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.dst <=> b.src JOIN f c ON b.src = c.dst"
  )
  differential_("doubles and floats")(
    "SELECT a.d, b.d, a.f, c.f FROM e a JOIN e b ON a.d = b.d JOIN f c ON b.f = c.f WHERE a.id < 12"
  )
  differential_("doubles in WHERE")(
    "SELECT a.d, b.d, c.d FROM e a, e b, f c WHERE a.d = b.d AND b.d <=> c.d AND a.id < 12"
  )
  differential_("null-safe doubles")(
    "SELECT a.d, b.d, c.f FROM e a JOIN e b ON a.d <=> b.d JOIN f c ON b.f <=> c.f AND b.s = c.s"
  )
  differential_("doubles equated with floats")(
    "SELECT a.d, b.f, c.i FROM e a JOIN e b ON a.d = b.f JOIN f c ON b.f = c.i"
  )
  differential_("structs and arrays")(
    "SELECT a.st, b.st, c.arr FROM e a JOIN e b ON a.st = b.st JOIN f c ON b.arr = c.arr"
  )
  differential_("null-safe structs in WHERE")(
    "SELECT a.st, b.st, c.st FROM e a, e b, f c WHERE a.st <=> b.st AND b.st <=> c.st"
  )
  differential_("collations")(
    "SELECT a.ci, b.ci, b.uc, c.uc, c.rt FROM e a JOIN e b ON a.ci = b.ci JOIN f c ON b.uc = c.uc JOIN g h ON c.rt = h.rt"
  )
  differential_("collations in WHERE, with NULLs as values")(
    "SELECT a.ci, b.ci, c.ci FROM e a, e b, f c WHERE a.ci <=> b.ci AND b.ci = c.ci AND a.id < 12"
  )
  differential_("arrays of collated strings")(
    "SELECT a.cis, b.cis, c.id FROM e a, e b, f c WHERE a.cis = b.cis AND b.src = c.src"
  )
  differential_("decimals, dates, timestamps, booleans, binaries, strings")(
    """SELECT a.id, b.id, c.id, h.dec, h.big FROM e a JOIN e b ON a.dec = b.dec AND a.bin = b.bin
      |JOIN f c ON b.day = c.day AND b.bool = c.bool JOIN g h ON c.big = h.big AND c.ts = h.ts AND c.s = h.s"""
  )
  differential_("keys of different types")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.i = b.src JOIN f c ON b.sh = c.src JOIN g h ON c.dst = h.dec"
  )
  differential_("dates equated with times")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.src = b.src JOIN f c ON CAST(b.day AS TIMESTAMP) = CAST(c.day AS TIMESTAMP)"
  )
  differential_("computed keys")(
    "SELECT a.src + 1 AS n, b.id, c.id FROM e a JOIN e b ON a.src + 1 = b.dst JOIN f c ON lower(b.s) = lower(c.s)"
  )
  differential_("projections between joins")(
    """SELECT x.total, y.dst + x.total AS t2 FROM
      |(SELECT a.src + b.dst AS total, b.dst + 1 AS next FROM e a JOIN e b ON a.dst = b.src) x JOIN f y ON x.next = y.src"""
  )
  differential_("constants")(s"SELECT a.id, c.id $chain WHERE b.src = 1")
  differential_("a constant on one side of a null-safe equi-join condition")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.dst <=> b.src JOIN f c ON b.dst = c.src WHERE b.src = 1"
  )
  differential_("a constant on one side of a computed equi-join condition")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.i = abs(b.i) JOIN e c ON b.i = c.i WHERE b.i = 1"
  )
  differential_("a cycle cut by a constant")(
    "SELECT a.id, b.id, c.id FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src AND a.src = 2"
  )
  differential_("contradictions give nothing")(s"SELECT a.id, c.id $chain WHERE b.src = 3 AND a.dst = 4")
  differential_("one class twice in a leaf")(
    "SELECT a.id, b.id, c.id FROM e a JOIN f b ON a.src = b.src AND a.dst = b.src JOIN e c ON b.dst = c.src"
  )
  differential_("one null-safe class twice in a leaf")(
    "SELECT a.id, b.id FROM e a, f b WHERE a.src <=> b.src AND a.dst <=> b.src"
  )
  differential_("composite keys")(
    "SELECT a.id, b.id, c.id FROM e a JOIN f b ON a.src = b.src AND a.dst = b.dst JOIN g c ON b.src = c.src AND b.i = c.i"
  )
  differential_("cross product")("SELECT a.id, b.id FROM e a CROSS JOIN f b WHERE a.id < 5")
  differential_("disconnected with a residual")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.src = b.src CROSS JOIN f c WHERE c.id < a.id"
  )
  differential_("a leaf without columns")("SELECT a.id FROM e a JOIN e b ON a.src = b.dst CROSS JOIN f c")
  differential_("nothing but a count")(s"SELECT count(*) $chain")
  differential_("sums and counts per group")(
    s"SELECT b.src, count(*) AS n, sum(a.id) AS s, avg(c.dst) AS m, count(c.dst) AS d, max(a.src) AS x $chain GROUP BY b.src"
  )
  differential_("sums of several relations per computed key")(
    s"SELECT a.src + 1 AS k, sum(CAST(a.id AS DECIMAL(10, 1)) - CAST(c.dst AS DECIMAL(10, 1))) AS s $chain GROUP BY a.src + 1"
  )
  differential_("the same column twice")(s"SELECT a.src AS p, a.src AS q, a.src, c.dst $chain")
  differential_("aliases of aliases")(
    """SELECT p, q AS r, z.s FROM (SELECT src AS p, dst AS q FROM e) x JOIN (SELECT q2 AS k, r2 AS s FROM
      |(SELECT src AS q2, dst AS r2 FROM e)) y ON q = k JOIN (SELECT src AS s, dst AS s2 FROM e) z ON y.s = z.s2"""
  )
  differential_("bushy")(
    """SELECT x.s, y.d FROM (SELECT a.src AS s, b.dst AS m FROM e a JOIN f b ON a.dst = b.src) x JOIN
      |(SELECT c.src AS m, d.dst AS d FROM e c JOIN g d ON c.dst = d.src) y ON x.m = y.m"""
  )
  differential_("star")(
    "SELECT a.id, b.id, c.id, d.id FROM e a, e b, f c, g d WHERE a.src = b.src AND b.src = c.src AND c.src = d.src AND a.id < 12"
  )
  differential_("static side")(
    s"SELECT a.src, c.dst, k.class $chain JOIN dimension k ON k.k = b.dst AND k.class < b.src"
  )
  differential_("static side by a sum")(
    s"SELECT a.src, c.dst, k.class $chain JOIN dimension k ON k.k = c.dst + 1"
  )
  differential_("two static sides of one stream")(
    s"SELECT a.src, c.dst, k.class, m.class $chain JOIN dimension k ON k.k = b.dst JOIN dimension m ON m.k = k.class"
  )
  differential_("a subquery over a static side")(
    s"SELECT a.id, c.id $chain WHERE c.src IN (SELECT k FROM dimension WHERE class = 1)"
  )
  for (static <- Seq("dimension", "classes")) {
    differential_(s"EXISTS over two relations, $static")(
      s"SELECT a.id, c.id $chain WHERE EXISTS (SELECT 1 FROM $static s WHERE s.k = a.src AND s.class < c.dst)"
    )
    differential_(s"NOT EXISTS over two relations, under OR, $static")(
      s"SELECT a.id, c.id $chain WHERE a.id < 3 OR NOT EXISTS (SELECT 1 FROM $static s WHERE s.k = a.src AND s.class = c.dst)"
    )
    differential_(s"EXISTS in ON, $static")(
      s"SELECT a.id, c.id $chain AND EXISTS (SELECT 1 FROM $static s WHERE s.k = a.src AND s.class < c.dst)"
    )
    differential_(s"EXISTS behind a static side, $static")(
      s"SELECT a.id, c.id, t.class FROM e a JOIN $static t ON t.k = a.src JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src " +
        s"WHERE EXISTS (SELECT 1 FROM $static s WHERE s.class = t.class AND s.k < c.dst)"
    )
    differential_(s"a correlated subquery with a value, $static")(
      s"SELECT a.id, c.id, (SELECT max(s.class) FROM $static s WHERE s.k = a.src) AS top $chain " +
        s"WHERE a.src IN (SELECT s.k FROM $static s WHERE s.class <> c.dst)"
    )
    differential_(s"a static side above the joins, $static")(
      s"SELECT a.src, c.dst, k.class $chain JOIN $static k ON k.k = a.src WHERE k.class < 2"
    )
  }
  differential_("a static side that may change, between the joins", 2)(
    "SELECT a.id, b.id, c.id, d.id, k.class FROM e a JOIN e b ON a.dst = b.src JOIN classes k ON k.k = b.dst " +
      "JOIN f c ON c.src = b.dst JOIN g d ON d.src = c.dst AND d.id < 9"
  )
  differential_("a subquery over a table that may change, between the joins", 2)(
    "SELECT x.a, c.id, d.id FROM (SELECT a.id AS a, b.dst AS m FROM e a JOIN e b ON a.dst = b.src WHERE EXISTS " +
      "(SELECT 1 FROM classes s WHERE s.k = a.src AND s.class < b.dst)) x JOIN f c ON c.src = x.m JOIN g d ON d.src = c.dst " +
      "AND d.id < 9"
  )
  differential_("keys that can fail, of the rows of a leaf")(
    "SELECT a.id, b.id, c.id FROM e a JOIN f b ON CAST(a.s AS BINARY) = CAST(b.s AS BINARY) AND a.id + 1 = b.id + 1 " +
      "JOIN g c ON c.src + 1 = b.dst"
  )
  differential_("keys that may get too large, of shared scans")(
    "SELECT a.id, b.id, c.id FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst * 2 - 1 = c.src AND a.id % 2 = 0"
  )
  differential_("residuals that can fail")(
    s"SELECT a.id, b.id, c.id $chain WHERE a.src < c.dst AND 12 DIV (c.dst - a.src) > 3"
  )
  differential_("a scalar subquery in a residual")(
    s"SELECT a.id, c.id $chain WHERE a.id + c.id > (SELECT max(k) * 3 FROM dimension)"
  )
  differential_("union as a leaf")(
    "SELECT a.id, b.id, c.id FROM (SELECT * FROM e UNION ALL SELECT * FROM f) a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  )
  differential_("two blocks", 2)(
    s"SELECT a.id, c.id $chain UNION ALL SELECT a.id, b.id FROM f a JOIN f b ON a.dst = b.src"
  )
  differential_("a block inside a leaf", 2)(
    """SELECT x.n, c.id FROM (SELECT a.src AS k, count(*) AS n FROM e a JOIN e b ON a.dst = b.src GROUP BY a.src) x
      |JOIN f c ON x.k = c.src"""
  )
  differential_("conditions with OR")(
    "SELECT a.id, b.id FROM e a JOIN e b ON (a.src = b.src AND a.dst > 1) OR (a.src = b.src AND b.dst < 4)"
  )
  differential_("NULL or equal")(
    "SELECT a.id, b.id FROM e a JOIN e b ON a.src = b.src OR (a.src IS NULL AND b.src IS NULL)"
  )

  test("equal leaves become one scan with a column per role, and placeholders") {
    val plan = optimize(
      streaming(spark.sql(s"SELECT a.src, b.src AS via, b.dst, c.dst $chain WHERE a.src > 2").queryExecution.analyzed)
    )
    val join = blocks(plan).head
    assert(join.rolesOfScan == Seq(Seq(0, 1, 2), Nil, Nil))
    assert(join.scans.head.output.map(_.name) == Seq("src", "dst", "role_0", "role_1", "role_2"))
    assert(join.scans.tail.forall(_.output.isEmpty))
    assert(join.shape.inputs.size == 1)
  }

  test("leaves of other columns or tables are scanned on their own") {
    val sql = "SELECT a.src, b.id FROM e a JOIN e b ON a.dst = b.src JOIN f c ON b.dst = c.src"
    val join = blocks(optimize(streaming(spark.sql(sql).queryExecution.analyzed))).head
    assert(join.rolesOfScan == Seq(Seq(0), Seq(1), Seq(2)))
  }
}
