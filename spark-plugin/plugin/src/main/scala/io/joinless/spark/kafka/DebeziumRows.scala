package io.joinless.spark.kafka

import com.fasterxml.jackson.databind.JsonNode
import io.joinless.spark.errors.KafkaErrors
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The rows that a record of a Debezium topic stands for, as an array of structs. Without a key
  * they are changes, after their weight: the row `before` with −1, the row `after` with +1. With a
  * key they are the state of the record's key, after a flag: at most one row, which says that the
  * key is deleted, and has nothing but its key then, or which has the values `after`.
  * {{{
  * op       is                without a key         with a key
  * r, c     read, created     + after               after
  * u        updated           − before, + after     after
  * d        deleted           − before              deleted
  * (none)   a tombstone       no row                deleted
  * m        a message         no row                no row
  * t        truncated         an error              an error
  * }}}
  * A record whose rows are not certain is an error, which names the record.
  *
  * @param record value, key, topic, partition and offset of the record; NULL where not there
  * @param key columns that identify a row; empty for changes
  * @param source the source of the records, for errors
  */
final private[kafka] case class DebeziumRows(
    record: Seq[Expression],
    format: RowFormat,
    key: Seq[String],
    source: String
) extends Expression with CodegenFallback {

  override def children: Seq[Expression] = record

  override def nullable: Boolean = false

  override def dataType: ArrayType = ArrayType(struct, containsNull = false)

  /** A weight or a flag, then the columns of the relation. */
  private lazy val struct: StructType = {
    val first =
      if (key.isEmpty) StructField("_weight", LongType, nullable = false)
      else StructField("_deleted", BooleanType, nullable = false)
    StructType(first +: format.columns.map(_.copy(nullable = true)))
  }

  override def prettyName: String = "debezium_rows"

  /** The format and the key decide on the rows: they are in the text that a checkpoint records. */
  override def sql: String =
    s"$prettyName(${record.map(_.sql).mkString(", ")}; ${format.text}; ${key.mkString(", ")})"

  @transient private lazy val values = new JsonValue(format)

  @transient private lazy val keyColumns = format.columns.filter(column => key.contains(column.name))

  override def eval(row: InternalRow): Any = {
    val at = new Record(row)
    val rows = at.bytes(record.head) match {
      case None => if (key.isEmpty) Nil else Seq(deleted(None, at))
      case Some(value) => ofEnvelope(at.envelope(value, "value"), at)
    }
    new GenericArrayData(rows.toArray[Any])
  }

  private def ofEnvelope(message: Envelope, at: Record): Seq[InternalRow] = message.operation match {
    case Some("c" | "r") => state(message, at)
    case Some("u") if key.isEmpty => Seq(before(message, at), after(message, at))
    case Some("u") =>
      message.image("before").foreach(checkSameKey(_, message, at))
      state(message, at)
    case Some("d") if key.isEmpty => Seq(before(message, at))
    case Some("d") => Seq(deleted(Some(message.image("before").getOrElse(at.key)), at))
    case Some("m") => Nil
    case Some("t") => throw at.error("TRUNCATED")
    case Some(other) => throw at.error("OPERATION", "operation" -> other)
    case None if message.isOfTransaction => Nil
    case None => throw at.error("MALFORMED", "what" -> s"it has no op; its fields are ${listed(message.fields)}")
  }

  /** The row `after`. */
  private def state(message: Envelope, at: Record): Seq[InternalRow] = {
    if (key.nonEmpty) checkPlace(at)
    Seq(after(message, at))
  }

  /** Records of one key must be in one partition, or their offsets would not say which is newer. So
    * their keys in Kafka may have none but the columns of the key.
    */
  private def checkPlace(at: Record): Unit = at.key.names.find(!key.contains(_)).foreach { column =>
    throw at.error("OTHER_KEY", "column" -> column, "key" -> key.mkString(", "))
  }

  private def after(message: Envelope, at: Record): InternalRow =
    row(if (key.isEmpty) 1L else false, imageOf(message, "after", at), at)

  private def before(message: Envelope, at: Record): InternalRow =
    row(-1L, imageOf(message, "before", at), at)

  private def imageOf(message: Envelope, side: String, at: Record): Image = message.image(side).getOrElse {
    if (side == "before") throw at.error("NO_BEFORE", "operation" -> message.operation.mkString)
    else throw at.error("MALFORMED", "what" -> "it has no row after its operation")
  }

  private def row(first: Any, image: Image, at: Record): InternalRow =
    InternalRow.fromSeq(first +: format.columns.map(value(_, image, at)))

  /** A key that has no row any more: as Kafka has it, and where a column is not there, as the row
    * before has it. Some databases pass on other columns of that row only, as NULL.
    */
  private def deleted(before: Option[Image], at: Record): InternalRow = {
    checkPlace(at)
    InternalRow.fromSeq(true +: format.columns.map { column =>
      if (!key.contains(column.name)) null
      else if (at.key.value(column.name).isDefined) value(column, at.key, at)
      else {
        val row = before.getOrElse(throw at.error("TOMBSTONE", "column" -> column.name))
        if (row.value(column.name).exists(_.isNull)) throw at.error("NO_BEFORE", "operation" -> "d")
        value(column, row, at)
      }
    })
  }

  /** An update must not move a row to another key: the row under the old key would stay. */
  private def checkSameKey(before: Image, message: Envelope, at: Record): Unit = {
    val after = imageOf(message, "after", at)

    /** Whether the row before has another value; NULL if the database has not passed it on. */
    def isOther(column: String) =
      before.value(column).exists(old => !old.isNull && !after.value(column).contains(old))
    keyColumns.find(column => isOther(column.name))
      .foreach(column => throw at.error("KEY_CHANGED", "column" -> column.name))
  }

  private def value(column: StructField, image: Image, at: Record): Any = image.value(column.name) match {
    case None if format.added(column.name) => null
    case None => throw at.error("NO_COLUMN", "column" -> column.name, "columns" -> listed(image.names))
    case Some(json) if json.isNull && column.nullable => null
    case Some(json) if json.isNull => throw unfit(column, json, "the column is NOT NULL", at)
    case Some(json) if json.isTextual && DebeziumRows.Unavailable(json.asText) =>
      throw at.error("UNAVAILABLE", "column" -> column.name)
    case Some(json) =>
      values.as(column.dataType, json, image.field(column.name)).fold(
        why => throw unfit(column, json, why, at),
        identity
      )
  }

  private def unfit(column: StructField, json: JsonNode, why: String, at: Record): Throwable = {
    val text = json.toString
    at.error(
      "VALUE",
      "value" -> (if (text.length > 80) text.take(80) + " …" else text),
      "column" -> column.name,
      "type" -> column.dataType.sql,
      "why" -> why
    )
  }

  private def listed(names: Seq[String]): String = if (names.isEmpty) "none" else names.mkString(", ")

  /** A record, which errors name. */
  private class Record(row: InternalRow) {

    def bytes(part: Expression): Option[Array[Byte]] = Option(part.eval(row)).map {
      case text: UTF8String => text.getBytes
      case bytes => bytes.asInstanceOf[Array[Byte]]
    }

    def envelope(bytes: Array[Byte], part: String): Envelope =
      Envelope.of(bytes).fold(what => throw error("MALFORMED", "what" -> s"of its $part, $what"), identity)

    /** The record's key in Kafka. */
    lazy val key: Image =
      envelope(bytes(record(1)).getOrElse(throw error("NO_KEY")), "key").whole

    def error(subclass: String, more: (String, String)*): Throwable = {
      val place = Seq("topic", "partition", "offset").zip(record.drop(2).map(_.eval(row))).collect {
        case (part, value) if value != null => s"$part $value"
      }
      val name = if (place.isEmpty) s"A record of $source" else s"The record at ${place.mkString(", ")}"
      KafkaErrors.message(subclass, name, more)
    }
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): DebeziumRows =
    copy(record = newChildren)
}

private[kafka] object DebeziumRows {

  /** What Debezium writes instead of a value that the database did not pass on, as a text and as
    * bytes in base64.
    */
  private val Unavailable = Set("__debezium_unavailable_value", "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==")
}
