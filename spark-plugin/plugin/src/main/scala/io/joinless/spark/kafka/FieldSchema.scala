package io.joinless.spark.kafka

import com.fasterxml.jackson.databind.JsonNode

/** What the schema inside a message says of a field.
  *
  * @param kind its type in Kafka Connect, such as `int64` or `bytes`
  * @param name of its logical type, such as `io.debezium.time.MicroTimestamp`; empty if it has none
  * @param scale of a decimal
  */
final private[kafka] case class FieldSchema(kind: String, name: String, scale: Option[Int])

private[kafka] object FieldSchema {

  /** The names of the logical types that are read by their meaning. */
  object Name {
    val Decimal = "org.apache.kafka.connect.data.Decimal"
    val VariableScaleDecimal = "io.debezium.data.VariableScaleDecimal"
    val Dates = Set("io.debezium.time.Date", "org.apache.kafka.connect.data.Date")
    val IsoDate = "io.debezium.time.IsoDate"
    val Millis = Set("io.debezium.time.Timestamp", "org.apache.kafka.connect.data.Timestamp")
    val Micros = "io.debezium.time.MicroTimestamp"
    val Nanos = "io.debezium.time.NanoTimestamp"
    val Zoned = "io.debezium.time.ZonedTimestamp"
    val IsoTimestamp = "io.debezium.time.IsoTimestamp"
  }

  /** The field of this name in a schema of a struct; None if the schema does not have it. */
  def of(struct: JsonNode, field: String): Option[FieldSchema] = nodeOf(struct, field).map { node =>
    val scale = node.path("parameters").path("scale")
    FieldSchema(
      node.path("type").asText,
      node.path("name").asText(""),
      scale.asText("").toIntOption
    )
  }

  /** The schema of a field of a struct. */
  def nodeOf(struct: JsonNode, field: String): Option[JsonNode] = {
    val fields = struct.path("fields").elements
    while (fields.hasNext) {
      val node = fields.next()
      if (node.path("field").asText == field) return Some(node)
    }
    None
  }
}
