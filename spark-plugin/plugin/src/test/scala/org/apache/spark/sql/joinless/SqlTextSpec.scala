package org.apache.spark.sql.joinless

import io.joinless.spark.SharedSpark
import io.joinless.spark.conf.Built
import io.joinless.spark.inspect.SqlText
import org.apache.spark.sql.catalyst.expressions.{Abs, BoundReference, Expression, InSet}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

/** The expressions that a checkpoint's texts may contain. */
class SqlTextSpec extends AnyFunSuite with SharedSpark {
  import SqlTextSpec._

  private def read(text: String, confs: Map[String, String] = Map.empty): Expression =
    SqlText.read(spark, Seq(text), Types, confs).head

  for (text <- Recorded) test(s"is written and read back: $text") {
    val expression = read(text)
    val written = new SqlText(spark).of(expression)
    assert(written.isDefined, expression)
    assert(read(written.get).canonicalized == expression.canonicalized)
  }

  for (text <- Refused) test(s"is refused: ${text.take(80)} (${text.length})") {
    val error = intercept[Exception](read(text))
    assert(!Pwned.touched && System.getProperty("joinless.pwned") == null)
    assert(error.isInstanceOf[IllegalArgumentException] || error.isInstanceOf[ParseException], error)
  }

  test("functions of the session do not take the place of Spark's") {
    val own = spark.newSession()
    own.udf.register("abs", (n: Long) => { Pwned.touched = true; n })
    assert(SqlText.read(own, Seq("abs(c0)"), Types, Map.empty).head.prettyName == "abs")
    val abs = SqlText.read(own, Seq("abs(c0)"), Types, Map.empty).head
    if (Built.Spark != "4.1") assert(new SqlText(own).of(abs).isDefined) // in 4.1 functions of the session come first
    own.conf.set("spark.sql.functionResolution.sessionOrder", "first")
    assert(new SqlText(own).of(Abs(abs)).isEmpty)
    assert(new SqlText(spark).of(Abs(abs)).isDefined, "what one session cannot write another one can")
    own.udf.register("mine", (n: Long) => n)
    intercept[IllegalArgumentException](SqlText.read(own, Seq("mine(c0)"), Types, Map.empty))
  }

  test("settings that no result depends on are refused") {
    read("c0 + 1", Map("spark.sql.ansi.enabled" -> "true", "spark.sql.legacy.timeParserPolicy" -> "LEGACY"))
    for (
      key <-
        Seq("spark.sql.extensions", "spark.hadoop.fs.defaultFS", "spark.sql.catalog.evil", "spark.sql.warehouse.dir")
    )
      assert(intercept[IllegalArgumentException](read("c0 + 1", Map(key -> "x"))).getMessage.contains(key))
  }

  test("what could not be read back is not recorded") {
    def in(words: Int) = InSet(
      BoundReference(2, StringType, nullable = true),
      Set.tabulate[Any](words)(n => UTF8String.fromString(s"w$n"))
    )
    assert(new SqlText(spark).of(in(20000)).isEmpty)
    assert(new SqlText(spark).of(in(20)).isDefined)
  }
}

object SqlTextSpec {

  /** Set by code that must not run. */
  object Pwned { @volatile var touched = false }

  val Types: Seq[DataType] = Seq(
    LongType,
    IntegerType,
    StringType,
    TimestampType,
    DateType,
    DoubleType,
    DecimalType(20, 4),
    ArrayType(LongType),
    MapType(StringType, LongType),
    new StructType().add("a", LongType).add("b", StringType),
    BooleanType,
    BinaryType,
    TimestampNTZType,
    DayTimeIntervalType()
  )

  val Recorded: Seq[String] = Seq(
    "c0 + 1",
    "c0 * 2 - c1 / 3 % 5",
    "c0 DIV 3",
    "-c0",
    "abs(c0) + pmod(c0, 7)",
    "c0 & 3 | c1 ^ 1",
    "~c0",
    "shiftleft(c0, 2)",
    "c0 > 3 AND (c1 <= 4 OR NOT c10)",
    "c0 <=> c1",
    "c0 IN (1, 2, 3)",
    "c2 IN ('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l')",
    "c0 BETWEEN 1 AND 9",
    "c2 IS NULL OR c2 IS NOT NULL AND isnan(c5)",
    "CASE WHEN c0 = 1 THEN 'one' WHEN c0 = 2 THEN 'two' ELSE c2 END",
    "CASE c1 WHEN 1 THEN 'x' END",
    "if(c0 > 1, c2, 'none')",
    "coalesce(c2, 'none')",
    "greatest(c0, 5) + least(c0, c1)",
    "nullif(c0, 1)",
    "CAST(c2 AS INT)",
    "TRY_CAST(c2 AS DECIMAL(10, 2))",
    "CAST(c0 AS STRING) || c2",
    "CAST(c3 AS DATE)",
    "CAST(c4 AS TIMESTAMP)",
    "c5 * CAST(1.5 AS DOUBLE)",
    "c6 + 1.25BD",
    "round(c6, 2)",
    "floor(c5) + ceil(c5)",
    "sqrt(c5) + pow(c5, 2) + ln(c5)",
    "upper(c2)",
    "lower(trim(c2))",
    "length(c2) + ascii(c2)",
    "substring(c2, 2, 3)",
    "concat(c2, '-', c2)",
    "concat_ws('/', c2, c2)",
    "replace(c2, 'a', 'b')",
    "regexp_replace(c2, '[0-9]+', '#')",
    "regexp_extract(c2, '(\\\\d+)', 1)",
    "c2 LIKE 'a%'",
    "c2 LIKE '%a_b%'",
    "c2 ILIKE 'A%b'",
    "c2 RLIKE '^a.*b'",
    "startswith(c2, 'ab')",
    "contains(c2, 'it''s')",
    "lpad(c2, 10, '0')",
    "split(c2, ',')",
    "split(c2, ',')[0]",
    "md5(c2)",
    "sha2(c2, 256)",
    "hash(c0, c2)",
    "xxhash64(c2)",
    "hex(c0)",
    "year(c3) * 100 + month(c3)",
    "date_format(c3, 'yyyy-MM')",
    "to_timestamp(c2)",
    "date_trunc('HOUR', c3)",
    "trunc(c4, 'MM')",
    "date_add(c4, 3)",
    "datediff(c4, DATE '2020-01-01')",
    "c3 + INTERVAL '1' DAY",
    "c3 - INTERVAL '2' HOUR",
    "c3 > TIMESTAMP '2020-01-01 00:00:00'",
    "c4 = DATE '2024-02-29'",
    "c3 - c3",
    "c13 * 2",
    "unix_timestamp(c3)",
    "from_unixtime(c0)",
    "hour(c3) + minute(c3) + second(c3)",
    "extract(DAY FROM c3)",
    "dayofweek(c4)",
    "last_day(c4)",
    "add_months(c4, 2)",
    "months_between(c3, c3)",
    "c7[0]",
    "size(c7)",
    "array_contains(c7, 3)",
    "array(c0, c0)",
    "element_at(c7, 1)",
    "sort_array(c7)",
    "slice(c7, 1, 2)",
    "array_distinct(c7)",
    "c8['k']",
    "map_keys(c8)",
    "map('a', c0)",
    "c9.a",
    "named_struct('x', c0, 'y', c2)",
    "get_json_object(c2, '$.a')",
    "c12 < TIMESTAMP_NTZ '2024-01-01 00:00:00'",
    "c5 > CAST('Infinity' AS DOUBLE)",
    "array_contains(array(1L, 2L), c0)"
  )

  private val pwn = "'java.lang.System', 'setProperty', 'joinless.pwned', 'yes'"

  val Refused: Seq[String] = Seq(
    s"java_method($pwn) IS NULL",
    s"reflect($pwn)",
    s"try_reflect($pwn)",
    s"if(c0 = 1, java_method($pwn), c2)",
    s"concat(c2, java_method($pwn))",
    s"java_method($pwn, c2)",
    s"transform(c7, x -> java_method($pwn))",
    "exists(c7, x -> x > 1)",
    "(SELECT 1)",
    "c0 IN (SELECT 1)",
    "EXISTS (SELECT * FROM csv.`/etc/passwd`)",
    "input_file_name()",
    "current_date() = c4",
    "current_user() = c2",
    "now() = c3",
    "rand() > 0.5",
    "uuid()",
    "monotonically_increasing_id()",
    "spark_partition_id()",
    "raise_error(c2)",
    "from_json(c2, 'a INT')",
    "from_json(c2, repeat('x', 1000000000))",
    "repeat('x', 2000000000) = c2",
    "c2 = space(2000000000)",
    "c2 = concat(c2, repeat('x', 2000000000))",
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab' RLIKE '(a+)+$'",
    "size(sequence(1, 1000000000)) = c0",
    "array_repeat(1, 1000000000)[c1]",
    "sum(c0)",
    "count(*)",
    "row_number() OVER (ORDER BY c0)",
    "explode(c7)",
    "nosuchfunction(c0)",
    "system.builtin.abs(c0)",
    "spark_catalog.default.f(c0)",
    "nosuchcolumn",
    "c14",
    "c00",
    "C0",
    "value",
    "session.x",
    "system.session.x",
    "IDENTIFIER('c0')",
    "IDENTIFIER('ab' || 's')(c0)",
    ":p",
    "?",
    "*",
    "c9.*",
    "c0 AS value",
    "from_avro(c11, '{}')",
    "from_protobuf(c11, 'java.lang.Runtime')",
    "xpath(c2, '/a')",
    "window(c3, '1 hour')",
    "version() = c2",
    "typeof(c0)",
    "schema_of_json('{}')",
    "(" * 5000 + "c0" + ")" * 5000,
    "CASE WHEN c0 = 1 THEN " * 5000 + "c0" + " END" * 5000,
    "c0" + " + 1" * 30000,
    "c0" + " + 1" * 6000
  )
}
