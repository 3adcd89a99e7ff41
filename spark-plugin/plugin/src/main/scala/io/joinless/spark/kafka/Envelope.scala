package io.joinless.spark.kafka

import com.fasterxml.jackson.core.{JsonProcessingException, StreamReadFeature}
import com.fasterxml.jackson.databind.json.JsonMapper
import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode}

/** A message of a Debezium topic in JSON: an operation, and a row before and after it. With the
  * converter's `schemas.enable` the message has its schema beside it:
  * {{{
  * {"before": null, "after": {"id": 1}, "op": "c", ...}
  * {"schema": {...}, "payload": {"before": null, "after": {"id": 1}, "op": "c", ...}}
  * }}}
  *
  * @param payload an object
  * @param schema of the payload; missing if the message has none
  */
final private[kafka] class Envelope(payload: JsonNode, schema: JsonNode) {

  /** The operation; None if there is none. */
  def operation: Option[String] = Some(payload.path("op")).filter(_.isTextual).map(_.asText)

  /** Whether it marks the begin or the end of a transaction, and has no row. */
  def isOfTransaction: Boolean =
    !payload.has("op") && payload.has("id") && Set("BEGIN", "END")(payload.path("status").asText)

  /** The names of the fields of the message. */
  def fields: Seq[String] = Envelope.names(payload)

  /** The row `before` or `after`; None if the message has none. */
  def image(side: String): Option[Image] = Some(payload.path(side)).filter(_.isObject).map { row =>
    new Image(row, FieldSchema.nodeOf(schema, side).getOrElse(MissingNode.getInstance))
  }

  /** The message itself as a row: the key of a record is one. */
  def whole: Image = new Image(payload, schema)
}

/** A row in JSON, and its schema. */
final private[kafka] class Image(row: JsonNode, schema: JsonNode) {

  def names: Seq[String] = Envelope.names(row)

  /** The value of a column; None if the row does not have the column. */
  def value(column: String): Option[JsonNode] = Option(row.get(column))

  /** What the schema says of a column. */
  def field(column: String): Option[FieldSchema] = FieldSchema.of(schema, column)
}

private[kafka] object Envelope {

  /** Numbers are read with all their digits; a name that comes twice is an error. */
  private val mapper = JsonMapper.builder()
    .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS, DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
    .build()

  /** The message in these bytes; or what they are instead. */
  def of(bytes: Array[Byte]): Either[String, Envelope] =
    try {
      val json = mapper.readTree(bytes)
      if (!json.isObject) Left("it is no JSON object")
      else if (!json.has("payload") || json.has("op")) Right(new Envelope(json, MissingNode.getInstance))
      else if (json.get("payload").isObject) Right(new Envelope(json.get("payload"), json.path("schema")))
      else Left("its payload is no JSON object")
    } catch {
      case e: JsonProcessingException => Left(s"it is no JSON: ${e.getOriginalMessage}")
    }

  private[kafka] def names(json: JsonNode): Seq[String] = {
    val names = Seq.newBuilder[String]
    json.fieldNames.forEachRemaining(name => names += name)
    names.result()
  }
}
