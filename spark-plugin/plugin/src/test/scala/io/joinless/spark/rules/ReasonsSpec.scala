package io.joinless.spark.rules

import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.errors.JoinlessAnalysisException
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.rewrite.RewriteStreamingJoins
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, EqualTo}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical.{Join, JoinHint, LocalRelation}
import org.apache.spark.sql.functions.udf
import org.apache.spark.sql.types.{DataType, LongType, MapType, StructType}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** Every reason an append-only block can have, and its text. */
class ReasonsSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    stream("e", "src BIGINT, dst BIGINT")
    stream("xyz", "x BIGINT, y BIGINT, z BIGINT")
    stream("t", "k BIGINT, ts TIMESTAMP, m MAP<STRING, INT>, iv STRUCT<a: INT, v: VARIANT>")
    Seq("w1" -> "ts1", "w2" -> "ts2").foreach { case (name, time) =>
      spark.table("t").select("k", "ts").withColumnRenamed("ts", time).withWatermark(time, "1 hour")
        .createOrReplaceTempView(name)
    }
    spark.range(10).selectExpr("id AS k", "id % 3 AS class").createOrReplaceTempView("dimension")
    val rows = spark.sparkContext.parallelize(Seq.empty[Row], 1)
    spark.createDataFrame(rows, StructType.fromDDL("k BIGINT, class BIGINT")).createOrReplaceTempView("changing")
  }

  private val chain = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
  private val triangle = "SELECT a.src FROM e a, e b, e c WHERE a.dst = b.src AND b.dst = c.src AND c.dst = a.src"
  private val acyclicOnly = "spark.joinless.cyclicJoins.enabled" -> "false"
  private val anyTwo = "spark.joinless.minRelations" -> "2"

  private def plan_(code: Reason.Code, confs: (String, String)*)(sql: String): Unit =
    test(s"plan_ ${code.name} ${sql.take(60)}") {
      withConf(confs: _*)(assert(codes(sql).headOption.contains(code.name)))
    }

  plan_(Reason.CyclicJoinGraph, acyclicOnly)(triangle)
  plan_(Reason.TooFewRelations)("SELECT a.src FROM e a JOIN e b ON a.dst = b.src")
  plan_(Reason.TooFewRelations, "spark.joinless.minRelations" -> "4")(s"SELECT a.src $chain")
  plan_(Reason.TooManyRelations, "spark.joinless.maxRelations" -> "2")(s"SELECT a.src $chain")
  plan_(Reason.CrossProduct, "spark.joinless.crossProducts.enabled" -> "false")(
    "SELECT a.src FROM e a JOIN e b ON a.dst = b.src CROSS JOIN e c"
  )
  plan_(Reason.NonEquiJoin, "spark.joinless.crossProducts.enabled" -> "false")(
    "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst < c.src"
  )
  plan_(Reason.NonEquiJoin)(
    "SELECT c.dst FROM (SELECT a.src + b.dst AS x FROM e a JOIN e b ON a.dst = b.src) y JOIN e c ON y.x = c.src"
  )
  plan_(Reason.StreamStaticJoin)(
    s"SELECT a.src $chain JOIN dimension k ON k.k = a.src AND k.class = c.dst"
  )
  plan_(Reason.StreamStaticJoin)(s"SELECT a.src, k.k $chain CROSS JOIN dimension k")
  private val long = "x" * (1 << 20)
  plan_(Reason.RecordTooLarge)(s"SELECT a.src $chain WHERE concat(a.src, c.dst) <> '$long'")
  plan_(Reason.RecordTooLarge)(s"SELECT d.src $chain JOIN e d ON concat(c.dst, '$long') = concat(d.src, '$long')")
  private val changingBetween =
    "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN changing k ON k.k = b.dst JOIN e c ON b.dst = c.src"
  plan_(Reason.StaticSideAboveJoins)(changingBetween)
  plan_(Reason.StaticSideAboveJoins)(
    "SELECT c.src FROM (SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src WHERE EXISTS " +
      "(SELECT 1 FROM changing k WHERE k.k = a.src AND k.class = b.dst)) x JOIN e c ON x.dst = c.src"
  )
  test("where a table that cannot change stands between, too, the one that can is named") {
    val sql = "SELECT c.src FROM (SELECT a.src, b.dst FROM e a JOIN e b ON a.dst = b.src WHERE EXISTS " +
      "(SELECT 1 FROM changing k WHERE k.k = a.src AND k.class = b.dst)) x JOIN (SELECT id AS d FROM range(9)) ON d = x.src JOIN e c ON x.dst = c.src"
    val reason = reasons(optimized(sql)).find(_.code == Reason.StaticSideAboveJoins)
    assert(
      reason.exists(_.sentence.startsWith("The static side k may change")),
      reasons(optimized(sql)).map(_.sentence)
    )
  }
  plan_(Reason.ThrowingKey)("SELECT a.k FROM t a JOIN t b ON a.k = b.k JOIN e c ON b.m['x'] DIV b.k = c.src")
  plan_(Reason.ThrowingKey)("SELECT b.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON 10 DIV b.dst = c.src")
  plan_(Reason.ThrowingKey)(s"SELECT a.src $chain JOIN dimension k ON k.k = 10 DIV c.dst")

  test("a key that can fail is no obstacle where Spark computes it on the same rows, or where it cannot fail") {
    def taken(sql: String, confs: (String, String)*): Unit = withConf(confs: _*) { val _ = block(sql) }
    taken("SELECT a.src FROM e a JOIN e b ON 10 DIV a.dst = b.src JOIN e c ON b.dst = c.src + 1")
    taken("SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON try_divide(10, b.dst) = c.src")
    taken("SELECT a.k FROM t a JOIN t b ON a.k = b.k JOIN e c ON b.m['x'] DIV 2 = c.src")
    taken(s"SELECT a.src $chain JOIN dimension k ON k.k = c.dst + 1")
    taken("SELECT a.k FROM t a JOIN t b ON a.k = b.k JOIN t c ON CAST(CAST(b.ts AS DATE) AS TIMESTAMP) = c.ts")
    taken(
      "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON CAST(b.dst AS DECIMAL(22, 1)) = CAST(c.src AS DECIMAL(30, 2))"
    )
    taken("SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON try_cast(b.dst AS INT) = c.src")
    taken("SELECT b.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst * 2 - 1 = c.src")
    // Spark itself checks on the rows of `a` that the key is not NULL
    taken("SELECT c.src FROM (SELECT a.dst + 1 AS x FROM e a JOIN e b ON a.dst = b.src) y JOIN e c ON y.x = c.src")
    val failing = "SELECT a.src FROM e a JOIN e b ON a.dst = b.src JOIN e c ON 10 DIV b.dst = c.src"
    taken(failing, "spark.sql.ansi.enabled" -> "false")
    taken(failing, "spark.joinless.keyErrors" -> "null")
  }

  test("a static side that may change stands above, below or, where that is wanted, everywhere") {
    assert(block(s"SELECT a.src, k.class $chain JOIN changing k ON k.k = a.src").shape.relations.size == 3)
    assert(block("SELECT a.src, k.class FROM e a JOIN changing k ON k.k = a.src JOIN e b ON a.dst = b.src JOIN e c " +
      "ON b.dst = c.src").shape.relations.size == 3)
    withConf("spark.joinless.staticSides" -> "atArrival")(assert(block(changingBetween).shape.staticsAtArrival))
    assert(!block(s"SELECT a.src $chain").shape.staticsAtArrival)
  }

  plan_(Reason.TooFewRelations)("SELECT a.k FROM w1 a LEFT JOIN w2 b ON a.k = b.k AND a.ts1 = b.ts2")
  plan_(Reason.OuterJoin, anyTwo)("SELECT a.k FROM w1 a LEFT JOIN w2 b ON a.k = b.k")
  plan_(Reason.OuterJoin, anyTwo, "spark.joinless.outerJoins.enabled" -> "false")(
    "SELECT a.k FROM w1 a LEFT JOIN w2 b ON a.k = b.k AND a.ts1 = b.ts2"
  )
  plan_(Reason.OuterJoin, anyTwo)(
    "SELECT a.k FROM (SELECT DISTINCT k, ts1 FROM w1) a LEFT JOIN w2 b ON a.k = b.k AND a.ts1 = b.ts2"
  )
  plan_(Reason.NondeterministicCondition)(
    "SELECT x.s FROM (SELECT a.src AS s, b.dst AS m FROM e a JOIN e b ON a.dst = b.src WHERE rand(1) < 0.5) x " +
      "JOIN e d ON x.m = d.src"
  )
  plan_(Reason.Disabled, "spark.joinless.enabled" -> "false")(s"SELECT a.src, a.dst AS d $chain")

  test("a watermark without a bound in time is no obstacle") {
    withConf(anyTwo) {
      assert(block("SELECT a.k, a.ts1 FROM w1 a JOIN w2 b ON a.k = b.k").shape.attributes.map(_.name) == Seq("a.k"))
    }
  }

  test("a reason survives the rules that make joins anew") {
    val plan =
      optimized("SELECT a.src AS first, b.dst AS last FROM (SELECT src, dst AS m FROM e) a JOIN e b ON a.m = b.src")
    assert(reasons(plan).map(_.code) == Seq(Reason.TooFewRelations))
  }

  test("a split block names the expression that splits it") {
    val plan = optimized(
      "SELECT x.s FROM (SELECT a.src AS s, b.dst AS m FROM e a JOIN e b ON a.dst = b.src WHERE rand(1) < 0.5) x JOIN e d ON x.m = d.src"
    )
    assert(reasons(plan).head.sentence.contains("rand(1)"))
  }

  test("a cyclic block is described by its columns") {
    val sentence = withConf(acyclicOnly)(reasons(optimized(triangle)).head.sentence)
    assert(sentence.contains("a, b, c") && sentence.contains("a.dst = b.src"), sentence)
  }

  test("what a cyclic block is advised to do can be done") {
    withConf(acyclicOnly)(checkWaysOutOfCycles())
  }

  private def checkWaysOutOfCycles(): Assertion = {
    val square =
      "SELECT a.src FROM e a, e b, e c, e d WHERE a.dst = b.src AND b.dst = c.src AND c.dst = d.src AND d.dst = a.src"
    val nullSafe = triangle.replace("c.dst = a.src", "c.dst <=> a.src")
    val shared =
      "SELECT a.src FROM e a, e b, e c, e d WHERE a.src = b.src AND b.src = c.src AND a.dst = d.src AND c.dst = d.dst " +
        "AND b.dst = d.src"
    val several =
      "SELECT a.x FROM xyz a, xyz b, xyz c, xyz d WHERE a.x = b.x AND a.y = c.x AND a.z = d.x AND b.y = c.y AND " +
        "b.z = d.y AND c.z = d.z"
    for (sql <- Seq(triangle, square, nullSafe, shared, several)) {
      val reason = reasons(optimized(sql)).head
      val arguments = reason.arguments.toMap
      assert(reason.advice.contains(s"Write ${arguments("equations")} as ${arguments("conditions")}"), reason)
      val acyclic =
        arguments("equations").split(" and ").foldLeft(sql)((text, condition) => text.replace(condition, "true")) +
          s" AND ${arguments("conditions")}"
      assert(acyclic.contains("true") && !arguments("equations").split(" and ").exists(acyclic.contains), reason)
      assert(blocks(optimized(acyclic)).size == 1, s"$acyclic: $reason")
    }
    assert(reasons(optimized(triangle)).head.arguments.toMap.apply("equations") == "c.dst = a.src")
    assert(reasons(optimized(square)).head.arguments.toMap.apply("joined") == "a, b, c")
  }

  test("every code's templates are filled by its arguments") {
    assert(Reason.codes.map(_.name).distinct.size == Reason.codes.size)
    val left = Seq(
      "SELECT a.src FROM e a JOIN e b ON a.dst = b.src",
      s"SELECT a.src $chain JOIN dimension k ON k.k = a.src AND k.class = c.dst"
    )
      .flatMap(sql => reasons(optimized(sql))) ++ withConf(acyclicOnly)(reasons(optimized(triangle)))
    left.foreach(r => assert(!(r.sentence + r.advice).matches(".*<[a-z]+>.*"), r))
  }

  test("mode=force makes the reason an error while a query runs, and only then") {
    withConf("spark.joinless.mode" -> "force", acyclicOnly) {
      val plan = withConf("spark.joinless.enabled" -> "false")(optimized(triangle))
      val rule =
        new RewriteStreamingJoins(() => io.joinless.spark.conf.JoinlessConf.active, () => RunState.Fresh, _ => ())
      val error = intercept[JoinlessAnalysisException](rule(plan))
      assert(error.getCondition == "JOINLESS_NOT_REWRITTEN")
      assert(error.getMessageParameters.get("reason") == "CYCLIC_JOIN_GRAPH")
      assert(codes(triangle) == Seq("CYCLIC_JOIN_GRAPH"))
    }
  }

  test("a nondeterministic UDF above or in one leaf does not matter") {
    spark.udf.register("noise", udf((x: Long) => x).asNondeterministic())
    val plan = optimized(
      "SELECT noise(a.src), c.dst FROM (SELECT noise(src) AS src, dst FROM e) a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"
    )
    assert(blocks(plan).size == 1)
  }

  test("key types without an order never come this far, variants and maps least of all") {
    Seq("a.m = b.m", "a.iv = b.iv").foreach { condition =>
      val error =
        intercept[org.apache.spark.sql.AnalysisException](spark.sql(s"SELECT 1 FROM t a JOIN t b ON $condition"))
      assert(error.getCondition.startsWith("DATATYPE_MISMATCH"))
    }
  }

  /** Plans that Spark's analyzer would not make, as other extensions may. */
  private def reasonOf(left: LocalRelation, right: LocalRelation): Reason = {
    val join = Join(left, right, Inner, Some(EqualTo(left.output.head, right.output.head)), JoinHint.NONE)
    val rule =
      new RewriteStreamingJoins(() => io.joinless.spark.conf.JoinlessConf.active, () => RunState.NoQuery, _ => ())
    assert(rule(join) eq join)
    Reason.at(join).get
  }

  private def source(name: String, dataType: DataType): LocalRelation =
    LocalRelation(Seq(AttributeReference(name, dataType)()), isStreaming = true)

  test("a key whose equal values can differ in their bytes") {
    val reason =
      withConf(anyTwo)(reasonOf(source("a", MapType(LongType, LongType)), source("b", MapType(LongType, LongType))))
    assert(reason.code == Reason.UnsupportedKeyType && reason.sentence.contains("MAP<BIGINT, BIGINT>"))
  }

  test("a column that both sides have under one id") {
    val both = source("a", LongType)
    val reason = withConf(anyTwo)(reasonOf(both, both))
    assert(reason.code == Reason.AmbiguousColumns && reason.sentence.contains("the column a "))
  }
}
