package io.joinless.spark.kafka

import io.joinless.spark.errors.KafkaErrors
import org.apache.spark.sql.types._

/** How rows of a Debezium topic are read: their columns by name, and what messages without a schema
  * do not say.
  *
  * @param columns of the relation, each of a type in [[RowFormat.types]]
  * @param added columns that older messages lack; they are NULL there
  * @param decimals how decimals are written where a message does not say it
  * @param timestamps the unit of timestamps that are numbers, where a message does not say it
  */
final private[kafka] case class RowFormat(
    columns: StructType,
    added: Set[String],
    decimals: Option[RowFormat.Decimals],
    timestamps: Option[RowFormat.Unit]
) {

  /** All that decides on the rows, as a text that is the same in each run. */
  def text: String = {
    val more = added.toSeq.sorted ++ decimals.map(_.name) ++ timestamps.map(_.name)
    (columns.toDDL +: more).mkString(", ")
  }
}

private[kafka] object RowFormat {

  /** How decimals are written: Debezium's `decimal.handling.mode`. */
  sealed abstract class Decimals(val name: String)

  /** The bytes of the unscaled value, in base64. */
  case object Precise extends Decimals("precise")

  /** A text of digits. */
  case object Digits extends Decimals("string")

  /** A number of JSON. */
  case object Numbers extends Decimals("double")

  val allDecimals: Seq[Decimals] = Seq(Precise, Digits, Numbers)

  /** The unit of a time since 1970. */
  sealed abstract class Unit(val name: String)

  case object Millis extends Unit("millis")

  case object Micros extends Unit("micros")

  case object Nanos extends Unit("nanos")

  val allUnits: Seq[Unit] = Seq(Millis, Micros, Nanos)

  /** The types that a column can have, as users write them. */
  val types: String = "BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL, STRING, BINARY, DATE, " +
    "TIMESTAMP, TIMESTAMP_NTZ"

  /** The format with these columns; an error if there are none, two have one name, or one has a type
    * that is not read.
    */
  def of(
      columns: StructType,
      added: Seq[String],
      decimals: Option[String],
      timestamps: Option[String]
  ): RowFormat = {
    if (columns.isEmpty) throw KafkaErrors.arguments("NO_COLUMNS")
    val names = columns.map(_.name)
    names.diff(names.distinct).headOption.foreach(name => throw KafkaErrors.arguments("COLUMN_TWICE", "column" -> name))
    columns.find(column => !isRead(column.dataType)).foreach { column =>
      throw KafkaErrors.arguments(
        "COLUMN_TYPE",
        "column" -> column.name,
        "type" -> column.dataType.sql,
        "types" -> types
      )
    }
    RowFormat(
      columns,
      added.toSet,
      decimals.flatMap(name => allDecimals.find(_.name == name)),
      timestamps.flatMap(name => allUnits.find(_.name == name))
    )
  }

  private def isRead(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | FloatType | DoubleType => true
    case StringType | BinaryType | DateType | TimestampType | TimestampNTZType | _: DecimalType => true
    case _ => false
  }
}
