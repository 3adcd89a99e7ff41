package io.joinless.spark.kafka

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.joinless.JoinlessRuntimeException
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.Assertion
import org.scalatest.funsuite.AnyFunSuite

/** The rows that records of a Debezium topic stand for, value by value. What Debezium itself wrote
  * is read in `tests/test_debezium.py`.
  */
class DebeziumRowsSpec extends AnyFunSuite {

  private def format(ddl: String, decimals: String = null, timestamps: String = null, added: Seq[String] = Nil) =
    RowFormat.of(StructType.fromDDL(ddl), added, Option(decimals), Option(timestamps))

  /** The rows of a record: first the weight or the flag, then the columns. */
  private def rows(
      format: RowFormat,
      value: String,
      key: Seq[String] = Nil,
      recordKey: String = """{"id": 1}"""
  ): Seq[Seq[Any]] = {
    val parts = Seq(value, recordKey).map(text => Literal(Option(text).map(UTF8String.fromString).orNull, StringType))
    val place = Seq(Literal(UTF8String.fromString("shop"), StringType), Literal(3), Literal(17L))
    val expression = DebeziumRows(parts ++ place, format, key, "shop")
    val types = expression.dataType.elementType.asInstanceOf[StructType].map(_.dataType)
    val found = expression.eval(InternalRow.empty).asInstanceOf[ArrayData]
    (0 until found.numElements()).map(i => found.getStruct(i, types.size).toSeq(types).map(shown))
  }

  private def row(values: Any*): Seq[Any] = values

  private def shown(value: Any): Any = value match {
    case bytes: Array[Byte] => bytes.toSeq
    case text: UTF8String => text.toString
    case digits: Decimal => digits.toBigDecimal
    case other => other
  }

  private def created(row: String, fields: String = ""): String = {
    val payload = s"""{"before": null, "after": $row, "op": "c"}"""
    if (fields.isEmpty) payload
    else s"""{"schema": {"type": "struct", "fields": [{"type": "struct", "field": "after", "fields": [$fields]}]},
            | "payload": $payload}""".stripMargin
  }

  /** A value of a column x, read as a type. */
  private def read(
      json: String,
      as: String,
      field: String = "",
      decimals: String = null,
      timestamps: String = null
  ): Any = {
    val schema = if (field.isEmpty) "" else s"""{"field": "x", $field}"""
    rows(format(s"x $as", decimals, timestamps), created(s"""{"x": $json}""", schema)).head.last
  }

  private def refused(condition: String, what: String)(act: => Any): Assertion = {
    val error = intercept[JoinlessRuntimeException](act)
    assert(error.getCondition == s"JOINLESS_DEBEZIUM.$condition")
    assert(error.getMessage.contains(what), error.getMessage)
    assert(error.getMessage.contains("The record at topic shop, partition 3, offset 17 "), error.getMessage)
  }

  private def unfit(json: String, as: String, what: String, field: String = "", timestamps: String = null): Assertion =
    refused("VALUE", what)(read(json, as, field, timestamps = timestamps))

  private def logical(kind: String, name: String) = s""""type": "$kind", "name": "$name""""

  private val decimal = logical("bytes", "org.apache.kafka.connect.data.Decimal") + """, "parameters": {"scale": "2"}"""
  private val micros = logical("int64", "io.debezium.time.MicroTimestamp")
  private val millis = logical("int64", "io.debezium.time.Timestamp")
  private val nanos = logical("int64", "io.debezium.time.NanoTimestamp")
  private val zoned = logical("string", "io.debezium.time.ZonedTimestamp")
  private val iso = logical("string", "io.debezium.time.IsoTimestamp")
  private val day = logical("int32", "io.debezium.time.Date")

  private val table = format("id INT, city STRING")
  private val ann = """{"id": 1, "city": "Lima"}"""
  private val bob = """{"id": 1, "city": "Oslo"}"""

  private def message(op: String, before: String, after: String) =
    s"""{"before": $before, "after": $after, "op": "$op", "source": {}, "ts_ms": 1}"""

  test("operations are changes without a key, and the state of a key with one") {
    val keyed = rows(table, _: String, Seq("id"))
    for (op <- Seq("c", "r")) {
      assert(rows(table, message(op, "null", ann)) == Seq(row(1L, 1, "Lima")))
      assert(keyed(message(op, "null", ann)) == Seq(row(false, 1, "Lima")))
    }
    assert(rows(table, message("u", ann, bob)) == Seq(row(-1L, 1, "Lima"), row(1L, 1, "Oslo")))
    assert(keyed(message("u", ann, bob)) == Seq(row(false, 1, "Oslo")))
    assert(keyed(message("u", "null", bob)) == Seq(row(false, 1, "Oslo")))
    assert(rows(table, message("d", ann, "null")) == Seq(row(-1L, 1, "Lima")))
    assert(keyed(message("d", """{"id": 1}""", "null")) == Seq(row(true, 1, null)))
    // a database that passes on other columns of the old row than the key
    assert(keyed(message("u", """{"id": null, "city": "Lima"}""", bob)) == Seq(row(false, 1, "Oslo")))
    assert(keyed(message("d", """{"id": null, "city": "Lima"}""", "null")) == Seq(row(true, 1, null)))
    assert(rows(table, message("d", ann, "null"), Seq("id", "city")) == Seq(row(true, 1, "Lima")))
    assert(keyed(message("d", "null", "null")) == Seq(row(true, 1, null)))
    assert(rows(table, null) == Nil)
    assert(keyed(null) == Seq(row(true, 1, null)))
    assert(rows(table, null, Seq("id"), """{"schema": {}, "payload": {"id": 7}}""") == Seq(row(true, 7, null)))
    for (key <- Seq(Nil, Seq("id"))) {
      assert(rows(table, """{"op": "m", "message": {"prefix": "note"}}""", key) == Nil)
      assert(rows(table, """{"status": "END", "id": "571:5", "event_count": 2}""", key) == Nil)
    }
  }

  test("a record whose rows are not certain is refused by name") {
    refused("OPERATION", "'x'")(rows(table, message("x", "null", ann)))
    refused("TRUNCATED", "truncated")(rows(table, message("t", "null", "null")))
    refused("NO_BEFORE", "operation 'u'")(rows(table, message("u", "null", ann)))
    refused("NO_BEFORE", "operation 'd'")(rows(table, message("d", "null", "null")))
    refused("MALFORMED", "no row after")(rows(table, message("c", "null", "null")))
    refused("MALFORMED", "no op; its fields are id, city")(rows(table, ann))
    refused("MALFORMED", "no JSON")(rows(table, """{"op": "c" """))
    refused("MALFORMED", "no JSON")(rows(table, """{"op": "c"} {}"""))
    refused("MALFORMED", "no JSON")(rows(table, """{"op": "c", "op": "d"}"""))
    refused("MALFORMED", "no JSON object")(rows(table, "5"))
    refused("MALFORMED", "payload")(rows(table, """{"schema": {}, "payload": 5}"""))
    refused("MALFORMED", "of its key")(rows(table, null, Seq("id"), "{"))
    refused("NO_COLUMN", "no column city; it has: id")(rows(table, created("""{"id": 1}""")))
    refused("OTHER_KEY", "has the column ID")(rows(table, null, Seq("id"), """{"ID": 1}"""))
    refused("NO_KEY", "no key")(rows(table, null, Seq("id"), null))
    refused("NO_KEY", "no key")(rows(table, created(ann), Seq("id"), null))
    refused("OTHER_KEY", "has the column shop, which key= (id) lacks")(
      rows(table, created(ann), Seq("id"), """{"id": 1, "shop": 2}""")
    )
    refused("OTHER_KEY", "has the column id")(rows(table, null, Seq("city"), """{"id": 1}"""))
    refused("NO_BEFORE", "operation 'd'")(
      rows(table, message("d", """{"id": 1, "city": null}""", "null"), Seq("id", "city"))
    )
    refused("TOMBSTONE", "lacks the column city")(rows(table, null, Seq("id", "city")))
    refused("NO_COLUMN", "no column city")(rows(table, message("d", "null", "null"), Seq("id", "city")))
    refused("KEY_CHANGED", "updates the column id")(
      rows(table, message("u", """{"id": 2, "city": "Lima"}""", ann), Seq("id"))
    )
    for (text <- Seq("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="))
      refused("UNAVAILABLE", "column city")(rows(table, created(s"""{"id": 1, "city": "$text"}""")))
    refused("VALUE", "the column is NOT NULL")(
      rows(format("id INT NOT NULL, city STRING"), created("""{"id": null, "city": null}"""))
    )
  }

  test("columns are read by name; others are left out, and added ones may be missing") {
    val found = rows(
      format("city STRING, id INT, since DATE", added = Seq("since")),
      created("""{"id": 1, "x": [1], "city": null}""")
    )
    assert(found == Seq(row(1L, null, 1, null)))
  }

  test("numbers, texts and bytes") {
    assert(read("true", "BOOLEAN") == true)
    assert(read("-128", "TINYINT") == -128.toByte)
    assert(read("32767", "SMALLINT") == 32767.toShort)
    assert(read("-2147483648", "INT") == Int.MinValue)
    assert(read("9223372036854775807", "BIGINT") == Long.MaxValue)
    assert(read("1.1", "FLOAT") == 1.1f)
    assert(read("0.1", "DOUBLE") == 0.1)
    assert(read("5", "DOUBLE") == 5.0)
    assert(read("\"NaN\"", "FLOAT").asInstanceOf[Float].isNaN)
    assert(read("\"-Infinity\"", "DOUBLE") == Double.NegativeInfinity)
    assert(read("\"é \\\"\"", "STRING") == "é \"")
    assert(read("\"AP8=\"", "BINARY", """"type": "bytes"""") == Seq[Byte](0, -1))
    assert(read("null", "INT") == null)
    unfit("1", "BOOLEAN", "no boolean")
    unfit("128", "TINYINT", "too large")
    unfit("9223372036854775808", "BIGINT", "too large")
    unfit("1.5", "INT", "no whole number")
    unfit("1.0", "INT", "no whole number")
    unfit("\"1\"", "INT", "no whole number")
    unfit("1e39", "FLOAT", "too large")
    unfit("1e999", "DOUBLE", "too large")
    unfit("\"0.1\"", "DOUBLE", "no number")
    unfit("1", "STRING", "no text")
    unfit("{\"a\": 1}", "STRING", "no text")
    unfit("\"BM4=\"", "STRING", "stands for bytes", decimal)
    unfit("\"AP8=\"", "BINARY", "read it as STRING")
    unfit("\"00ff\"", "BINARY", "read it as STRING", """"type": "string"""")
    unfit("\"*\"", "BINARY", "no base64", """"type": "bytes"""")
  }

  test("decimals in each of their spellings, never rounded") {
    def is(value: Any, text: String) = assert(value == BigDecimal(text))
    is(read("\"BM4=\"", "DECIMAL(10, 2)", decimal), "12.30")
    is(read("\"/av0HAE=\"", "DECIMAL(10, 2)", decimal), "-99999999.99")
    is(read("\"BM4=\"", "DECIMAL(20, 5)", decimal), "12.30000")
    is(read("{\"scale\": 6, \"value\": \"EtaH\"}", "DECIMAL(10, 6)"), "1.234567")
    is(read("\"12.3\"", "DECIMAL(10, 2)", """"type": "string""""), "12.30")
    is(read("\"12.3\"", "DECIMAL(10, 2)", decimals = "string"), "12.30")
    is(read("\"BM4=\"", "DECIMAL(10, 2)", decimals = "precise"), "12.30")
    is(read("12.30", "DECIMAL(10, 2)"), "12.30")
    is(read("12345678901234567890.12", "DECIMAL(22, 2)"), "12345678901234567890.12")
    is(read("1e2", "DECIMAL(3, 0)"), "100")
    unfit("\"BM4=\"", "DECIMAL(10, 2)", "decimals='string' or decimals='precise'")
    unfit("\"BM4=\"", "DECIMAL(10, 1)", "it is", """"type": "string"""")
    unfit("12.345", "DECIMAL(10, 2)", "3 digits after the point")
    unfit("123", "DECIMAL(4, 2)", "too large")
    unfit("1e1000000000", "DECIMAL(38, 0)", "too large")
    unfit("true", "DECIMAL(4, 2)", "no number")
    unfit("\"\"", "DECIMAL(4, 2)", "no bytes", decimal)
  }

  test("dates and times, by what is known of them") {
    val at = 1769853600123456L
    assert(read("20484", "DATE", day) == 20484)
    assert(read("-1", "DATE") == -1)
    assert(read("\"2026-01-31Z\"", "DATE", logical("string", "io.debezium.time.IsoDate")) == 20484)
    assert(read("\"2026-01-31\"", "DATE") == 20484)
    for (as <- Seq("TIMESTAMP", "TIMESTAMP_NTZ")) {
      assert(read(s"$at", as, micros) == at)
      assert(read(s"${at / 1000}", as, millis) == at / 1000 * 1000)
      assert(read(s"${at}000", as, nanos) == at)
      assert(read(s"${at / 1000}", as, timestamps = "millis") == at / 1000 * 1000)
      assert(read(s"${at}000", as, timestamps = "nanos") == at)
      assert(read("-1", as, timestamps = "micros") == -1L)
      // what a message says of its times counts more than what the user says of others
      assert(read(s"$at", as, micros, timestamps = "millis") == at)
      assert(read("\"2026-01-31T10:00:00.123456Z\"", as, iso) == at)
      unfit(s"$at", as, "timestamps='micros' or the like")
      unfit(s"${at}001", as, "finer than a microsecond", nanos)
      unfit("36000000000", as, "timestamps=", logical("int64", "io.debezium.time.MicroTime"), "micros")
      unfit("9223372036854775807", as, "too large", millis)
      unfit("1.5", as, "neither a number nor a text", micros)
    }
    assert(read("\"2026-01-31T12:00:00.123456+02:00\"", "TIMESTAMP", zoned) == at)
    assert(read("\"2026-01-31T10:00:00.123456Z\"", "TIMESTAMP") == at)
    assert(read("\"2026-01-31T10:00:00.123456\"", "TIMESTAMP_NTZ") == at)
    assert(read("\"0001-01-01T00:00:00Z\"", "TIMESTAMP") == -62135596800000000L)
    assert(read(s"$at", "BIGINT", micros) == at)
    unfit("\"2026-01-31T10:00:00.123456Z\"", "TIMESTAMP_NTZ", "no time without a zone", zoned)
    unfit("\"2026-01-31T10:00:00\"", "TIMESTAMP", "no time with a zone")
    unfit("\"2026-01-31T10:00:00.1234567Z\"", "TIMESTAMP", "finer than a microsecond", zoned)
    unfit("\"2026-02-30\"", "DATE", "no date")
    unfit("2147483648", "DATE", "too large")
    unfit("true", "DATE", "neither a number of days nor a text")
    unfit("1", "DATE", "it is a io.debezium.time.MicroTimestamp", micros)
  }

  test("the text of the expression has all that decides on the rows") {
    def text(format: RowFormat, key: Seq[String]) =
      DebeziumRows(Seq.fill(5)(Literal(1)), format, key, "shop").sql
    val texts = Seq(
      text(table, Nil),
      text(table, Seq("id")),
      text(format("id INT, city STRING", timestamps = "micros"), Nil),
      text(format("id INT, city STRING", decimals = "string"), Nil),
      text(format("id INT, city STRING", added = Seq("city")), Nil),
      text(format("id BIGINT, city STRING"), Nil)
    )
    assert(texts.distinct == texts)
    assert(text(format("id INT, city STRING"), Nil) == texts.head)
  }
}
