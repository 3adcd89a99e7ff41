package io.joinless.spark.rules.extract

import io.joinless.spark.rules.StreamingPlans
import io.joinless.spark.rules.blocks.{EquiJoinCondition, JoinBlock, Leaf, Names}
import io.joinless.spark.rules.rewrite.JoinBlocks
import org.apache.spark.sql.{DataFrame, classic}
import org.apache.spark.sql.catalyst.expressions.{CollationKey, EqualTo, Expression, Literal, PythonUDF}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types._
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

/** The block that is read from a plan: leaves, equi-join conditions, residuals, and the joins that
  * stay with Spark.
  */
class ExtractJoinBlockSpec extends AnyFunSuite with StreamingPlans with BeforeAndAfterAll {

  override def beforeAll(): Unit = {
    super.beforeAll()
    stream("e", "src BIGINT, dst BIGINT, s STRING")
    // A deterministic row-at-a-time UDF that never runs.
    spark.asInstanceOf[classic.SparkSession].sessionState.functionRegistry.createOrReplaceTempFunction(
      "py",
      arguments => PythonUDF("py", null, LongType, arguments, evalType = 100, udfDeterministic = true),
      "python_udf"
    )
  }

  private def read(sql: String): JoinBlock = read(spark.sql(sql))

  private def read(query: DataFrame): JoinBlock = {
    implicit val statics: StaticSides = StaticSides(atArrival = false)
    val plan = withConf("spark.joinless.enabled" -> "false")(optimized(query))
    val root = JoinBlocks.roots(plan).head
    ExtractJoinBlock(root.plan, root.needed).fold(reason => throw new AssertionError(reason.toString), identity)
  }

  private val chain = "FROM e a JOIN e b ON a.dst = b.src JOIN e c ON b.dst = c.src"

  private def edge(condition: EquiJoinCondition, leaves: IndexedSeq[Leaf]): Set[String] =
    Set(condition.left, condition.right).map(Names.of(_, leaves))

  test("a chain: three leaves, two equi-join conditions, the rest of no kind") {
    val block = read(s"SELECT a.src, c.dst $chain")
    assert(block.leaves.map(_.name) == Seq("a", "b", "c"))
    assert(block.equiJoinConditions.map(edge(_, block.leaves)).toSet == Set(
      Set("a.dst", "b.src"),
      Set("b.dst", "c.src")
    ))
    assert(block.residuals.isEmpty && block.late.isEmpty && block.filters.forall(_.isEmpty))
    assert(block.output.map(_._1.name) == Seq("src", "dst"))
  }

  test("every leaf has fresh attributes of its own") {
    val block = read(s"SELECT a.src, c.dst $chain")
    val ids = block.leaves.flatMap(_.attributes.map(_.exprId))
    assert(ids.distinct.size == ids.size)
    assert(ids.intersect(block.leaves.flatMap(_.plan.output.map(_.exprId))).isEmpty)
  }

  test("conditions are split into those of leaves, equi-join conditions and residuals") {
    val block = read(s"SELECT a.src, c.dst $chain WHERE a.src + b.dst > c.dst AND a.s = concat(b.s, c.s) AND a.s < c.s")
    assert(block.residuals.map(Names.of(_, block.leaves)).toSet == Set(
      "((a.src + b.dst) > c.dst)",
      "(a.s = concat(b.s, c.s))",
      "(a.s < c.s)"
    ))
  }

  test("an equality of more than two leaves is a residual, one of computed terms an equi-join condition") {
    val block = read(s"SELECT a.src, c.dst $chain AND upper(a.s) = lower(c.s)")
    assert(block.equiJoinConditions.map(edge(_, block.leaves)).toSet.contains(Set("upper(a.s)", "lower(c.s)")))
  }

  test("a Python UDF over one leaf is its filter, over several it stays above the block") {
    val one = optimized(s"SELECT a.src, c.dst $chain WHERE py(a.src) > 3")
    assert(blocks(one).size == 1 && above(one).isEmpty)
    val both = optimized(s"SELECT a.src, c.dst $chain WHERE py(a.src + c.dst) > 3")
    assert(blocks(both).size == 1 && above(both).nonEmpty)
    assert(blocks(both).head.residuals.isEmpty)
  }

  test("a Python UDF as a join key is a stored column") {
    val found =
      blocks(optimized("SELECT a.src, c.dst FROM e a JOIN e b ON py(a.dst) = b.src JOIN e c ON b.dst = c.src"))
    assert(found.size == 1)
    assert(found.head.shape.inputs.head.columns.size == 2)
  }

  /** The conditions above the block. */
  private def above(plan: LogicalPlan): Seq[Expression] = plan match {
    case Project(_, child) => above(child)
    case Filter(condition, _) => Seq(condition)
    case _: io.joinless.spark.plans.nodes.JoinFreeJoin => Nil
    case other => other.children.flatMap(above)
  }

  test("hints change nothing") {
    assert(block(s"SELECT /*+ BROADCAST(b), MERGE(c) */ a.src, c.dst $chain").shape == block(
      s"SELECT a.src, c.dst $chain"
    ).shape)
  }

  test("terms that differ in case or spelling of a column are one attribute") {
    val spec = block(s"SELECT a.src, c.dst FROM e a JOIN e b ON a.DST = b.src JOIN e c ON A.dst = c.Src").shape
    assert(spec.attributes.size == 1)
    assert(spec.relations.map(_.keys.size) == Seq(1, 1, 1))
  }

  test("bytes of key types") {
    val comparable = Seq(
      LongType,
      StringType,
      StringType("UTF8_LCASE"),
      DecimalType(30, 2),
      DoubleType,
      DateType,
      TimestampType,
      TimestampNTZType,
      BinaryType,
      BooleanType,
      DayTimeIntervalType(),
      YearMonthIntervalType(),
      ArrayType(DoubleType),
      new StructType().add("x", StringType)
    )
    val others =
      Seq(MapType(StringType, StringType), CalendarIntervalType, VariantType, NullType, ArrayType(VariantType))
    assert(comparable.filterNot(KeyBytes.comparable) == Nil)
    assert(others.filter(KeyBytes.comparable) == Nil)
  }

  test("collation keys of both sides are taken off together, or not at all") {
    stream("ci", "x STRING COLLATE UTF8_LCASE, y STRING COLLATE UNICODE")
    val Seq(x, y) = spark.table("ci").queryExecution.analyzed.output: @unchecked
    assert(KeyBytes.unwrapped(CollationKey(x), CollationKey(x)) == ((x, x)))
    val mixed = EqualTo(CollationKey(x), CollationKey(y))
    assert(KeyBytes.unwrapped(mixed.left, mixed.right) == ((mixed.left, mixed.right)))
    assert(KeyBytes.unwrapped(Literal(1), x)._2 == x)
  }
}
