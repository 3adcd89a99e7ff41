package io.joinless.spark.kafka

import java.math.{BigDecimal, BigInteger}
import java.time.format.DateTimeParseException
import java.time.{Instant, LocalDate, LocalDateTime, OffsetDateTime, ZoneOffset}
import java.util.Base64

import com.fasterxml.jackson.databind.JsonNode
import io.joinless.spark.kafka.FieldSchema.Name
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Values of a Debezium message as values of Spark's types. A value is read only where its meaning
  * is certain: by its JSON type, by the schema inside the message, or by what the user says
  * ([[RowFormat]]). Nothing is rounded, cut or guessed.
  */
final private[kafka] class JsonValue(format: RowFormat) {
  import JsonValue._

  /** The value as one of this type; or why it is none, as a clause.
    *
    * @param value not NULL
    */
  def as(dataType: DataType, value: JsonNode, field: Option[FieldSchema]): Read = dataType match {
    case BooleanType => if (value.isBoolean) Right(value.booleanValue) else unfit("it is no boolean of JSON")
    case ByteType => whole(value, Byte.MinValue, Byte.MaxValue).map(_.toByte)
    case ShortType => whole(value, Short.MinValue, Short.MaxValue).map(_.toShort)
    case IntegerType => whole(value, Int.MinValue, Int.MaxValue).map(_.toInt)
    case LongType => whole(value, Long.MinValue, Long.MaxValue)
    case FloatType =>
      if (isSpecial(value)) Right(value.asText.toFloat)
      else number(value).map(_.floatValue).filterOrElse(!_.isInfinite, TooLarge)
    case DoubleType =>
      if (isSpecial(value)) Right(value.asText.toDouble)
      else number(value).map(_.doubleValue).filterOrElse(!_.isInfinite, TooLarge)
    case d: DecimalType => decimal(value, field, d).flatMap(fitting(_, d))
    case StringType => text(value, field).map(UTF8String.fromString)
    case BinaryType =>
      if (field.exists(f => f.kind == "bytes" && f.name != Name.Decimal)) bytes(value)
      else unfit("only a schema inside the message says that a text stands for bytes; read it as STRING")
    case DateType => date(value, field)
    case TimestampType => timestamp(value, field, zoned = true)
    case TimestampNTZType => timestamp(value, field, zoned = false)
    case other => throw new IllegalStateException(s"no value of ${other.sql}")
  }

  /** A decimal as the message has it. */
  private def decimal(value: JsonNode, field: Option[FieldSchema], d: DecimalType): Either[String, BigDecimal] = {
    def unscaled(scale: Int) = bytes(value).filterOrElse(_.nonEmpty, "it has no bytes")
      .map(digits => new BigDecimal(new BigInteger(digits), scale))
    val isPrecise = field.exists(_.name == Name.Decimal)
    if (value.isNumber) Right(value.decimalValue)
    else if (value.isObject && value.path("scale").isInt && value.path("value").isTextual)
      bytes(value.get("value")).map(digits => new BigDecimal(new BigInteger(digits), value.get("scale").intValue))
    else if (!value.isTextual) unfit("it is no number")
    else if (isPrecise) unscaled(field.flatMap(_.scale).getOrElse(0))
    else if (field.exists(_.kind == "string") || format.decimals.contains(RowFormat.Digits)) digits(value.asText)
    else if (format.decimals.contains(RowFormat.Precise)) unscaled(d.scale)
    else unfit("a text may be digits or bytes; say which by decimals='string' or decimals='precise'")
  }

  /** A point in time in microseconds since 1970, or, without a zone, a time of day and a date as if
    * they were in UTC. Debezium writes times without a zone as numbers of that kind.
    */
  private def timestamp(value: JsonNode, field: Option[FieldSchema], zoned: Boolean): Read = {
    val name = field.fold("")(_.name)
    val unit =
      if (Name.Millis(name)) Some(RowFormat.Millis)
      else if (name == Name.Micros) Some(RowFormat.Micros)
      else if (name == Name.Nanos) Some(RowFormat.Nanos)
      else if (name.isEmpty) format.timestamps
      else None
    if (value.isIntegralNumber) unit match {
      case Some(known) => whole(value, Long.MinValue, Long.MaxValue).flatMap(micros(_, known))
      case None => unfit("a number may be milli-, micro- or nanoseconds; say which by timestamps='micros' or the like")
    }
    else if (!value.isTextual) unfit("it is neither a number nor a text")
    else parsed {
      if (zoned || name == Name.IsoTimestamp) instant(OffsetDateTime.parse(value.asText).toInstant)
      else instant(LocalDateTime.parse(value.asText).toInstant(ZoneOffset.UTC))
    }(if (zoned) "it is no time with a zone, such as 2026-01-31T10:00:00Z" else "it is no time without a zone")
  }
}

private[kafka] object JsonValue {

  /** A value of Spark's, or why there is none. */
  type Read = Either[String, Any]

  private def unfit(why: String) = Left(why)

  private val TooLarge = "it is too large"

  /** A whole number in this range. */
  private def whole(value: JsonNode, least: Long, most: Long): Either[String, Long] =
    if (!value.isIntegralNumber) unfit("it is no whole number")
    else if (!value.canConvertToLong || value.longValue < least || value.longValue > most) unfit(TooLarge)
    else Right(value.longValue)

  /** A number that may have a fraction. */
  private def number(value: JsonNode): Either[String, BigDecimal] =
    if (value.isNumber) Right(value.decimalValue) else unfit("it is no number")

  /** Whether it is one of the numbers that are texts in JSON. */
  private def isSpecial(value: JsonNode): Boolean =
    value.isTextual && Set("NaN", "Infinity", "-Infinity")(value.asText)

  /** A decimal with no more digits than the type has. */
  private def fitting(value: BigDecimal, d: DecimalType): Read = {
    val digits = value.stripTrailingZeros
    if (digits.scale > d.scale) unfit(s"it has ${digits.scale} digits after the point")
    else if (digits.precision.toLong - digits.scale > d.precision - d.scale) unfit(TooLarge)
    else Right(Decimal(digits.setScale(d.scale), d.precision, d.scale))
  }

  private def digits(text: String): Either[String, BigDecimal] =
    try Right(new BigDecimal(text))
    catch { case _: NumberFormatException => unfit("it is no number") }

  private def text(value: JsonNode, field: Option[FieldSchema]): Either[String, String] =
    if (field.exists(_.kind == "bytes")) unfit("it stands for bytes; read it as BINARY, or as DECIMAL if it is one")
    else if (value.isTextual) Right(value.asText)
    else unfit("it is no text")

  private def bytes(value: JsonNode): Either[String, Array[Byte]] =
    if (!value.isTextual) unfit("it is no text")
    else
      try Right(Base64.getDecoder.decode(value.asText))
      catch { case _: IllegalArgumentException => unfit("it is no base64") }

  /** Days since 1970. */
  private def date(value: JsonNode, field: Option[FieldSchema]): Read = {
    val name = field.fold("")(_.name)
    if (value.isIntegralNumber)
      if (name.isEmpty || Name.Dates(name)) whole(value, Int.MinValue, Int.MaxValue).map(_.toInt)
      else unfit(s"it is a $name")
    else if (!value.isTextual) unfit("it is neither a number of days nor a text")
    else parsed(whole(LocalDate.parse(value.asText.stripSuffix("Z")).toEpochDay))("it is no date, such as 2026-01-31")
  }

  private def whole(days: Long): Read =
    if (days.isValidInt) Right(days.toInt) else unfit(TooLarge)

  /** A number of units as microseconds. */
  private def micros(number: Long, unit: RowFormat.Unit): Read = unit match {
    case RowFormat.Millis =>
      if (Math.abs(number) <= Long.MaxValue / 1000) Right(number * 1000) else unfit(TooLarge)
    case RowFormat.Micros => Right(number)
    case RowFormat.Nanos => if (number % 1000 == 0) Right(number / 1000) else unfit(Finer)
  }

  private def instant(time: Instant): Read =
    if (time.getNano % 1000 != 0) unfit(Finer)
    else
      try Right(Math.addExact(Math.multiplyExact(time.getEpochSecond, 1000000L), time.getNano / 1000L))
      catch { case _: ArithmeticException => unfit(TooLarge) }

  private val Finer = "it is finer than a microsecond; read it as BIGINT or STRING"

  private def parsed(value: => Read)(otherwise: String): Read =
    try value
    catch { case _: DateTimeParseException => unfit(otherwise) }
}
