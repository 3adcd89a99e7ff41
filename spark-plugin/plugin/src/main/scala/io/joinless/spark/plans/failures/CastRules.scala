package io.joinless.spark.plans.failures

import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode}
import org.apache.spark.sql.types._

/** Which casts can fail on some value, as Spark's `Cast` evaluates them; checked on 4.2.0.
  *
  *   - `try_cast` never fails.
  *   - A number fits if the range of its source, rounded as Spark rounds it, lies within that of
  *     the target. Times, and the lengths of intervals, are such numbers where they are cast to
  *     numbers or from numbers. A value that does not fit is an error under ANSI; otherwise it is
  *     NULL or wraps around. For intervals it is always an error.
  *   - A date or a local time becomes an instant by a time zone; outside the years that
  *     microseconds can represent, that is an error in every mode but `try_cast`.
  *   - A text may denote no value of the type. That is an error under ANSI, and always where the
  *     target is an interval.
  *   - A nested value can fail where one of its parts can.
  *
  * `Cast.canUpCast` is not used: it says that the casts of a date to a timestamp, and of
  * DECIMAL(19,0) to BIGINT, cannot fail.
  */
object CastRules {

  /** Whether the cast itself can fail on some value of its input. */
  def canFail(cast: Cast): Boolean = cast.evalMode != EvalMode.TRY &&
    canFail(cast.child.dataType, cast.dataType, ValueBounds.of(cast.child))(cast.evalMode == EvalMode.ANSI)

  /** Whether it can fail only because a time is too large for its type. */
  def isOnlyTooLarge(cast: Cast): Boolean = isOfTimes(cast.child.dataType, cast.dataType)

  /** Whether a cast between these types can fail, in any mode but `try_cast`; true for types of which
    * nothing is known. Casts between times are decided before the others of a date, which are NULL.
    *
    * @param range of the values that are cast; None where they are no numbers, or of any size
    * @param ansi too large numbers and texts without a value are errors, not NULL
    */
  private def canFail(from: DataType, to: DataType, range: Option[ValueRange])(implicit ansi: Boolean): Boolean =
    (from, to) match {
      case _ if from == to || DataType.equalsStructurally(from, to) || from == NullType => false
      case (_: UserDefinedType[_] | VariantType, _) | (_, _: UserDefinedType[_] | VariantType) => true
      case (_, _: CharType | _: VarcharType) => true
      case (_, _: StringType) => !hasText(from)
      case _ if isOfTimes(from, to) => true
      case (_: StringType, Interval()) => true
      case (_: StringType, BinaryType | CalendarIntervalType) => false
      case (_: StringType, _) => ansi
      case (ArrayType(a, _), ArrayType(b, _)) => partFails(a, b)
      case (MapType(k, v, _), MapType(l, w, _)) => partFails(k, l) || partFails(v, w)
      case (StructType(a), StructType(b)) => a.zip(b).exists { case (f, g) => partFails(f.dataType, g.dataType) }
      case (_: NumericType, BooleanType | BinaryType | FloatType | DoubleType) => false
      case (FloatType | DoubleType, TimestampType) => ansi
      case (_: NumericType, TimestampType) => false
      case (DateType, _) => false // except to times: NULL
      case (_: TimestampType | _: TimestampNTZType, DateType | _: TimeType) => false
      case (BooleanType | TimestampType, FloatType | DoubleType | TimestampType) => false
      case (TimestampType, BooleanType) => false
      case (_: TimeType, _: TimeType | TimestampType | TimestampNTZType) => false
      case (_: YearMonthIntervalType, _: YearMonthIntervalType) => false
      case (_: DayTimeIntervalType, _: DayTimeIntervalType) => false
      case (Interval(), _) | (_, Interval()) => !fits(from, to, range)
      case (_: NumericType | BooleanType | TimestampType | _: TimeType, _: NumericType) =>
        ansi && !fits(from, to, range)
      case _ => true
    }

  /** Whether a cast of a part of a nested value can fail. */
  private def partFails(from: DataType, to: DataType)(implicit ansi: Boolean): Boolean =
    canFail(from, to, ValueBounds.ofType(from))

  /** Spark alone makes the text of such a value. */
  private def hasText(dataType: DataType): Boolean = dataType match {
    case ArrayType(e, _) => hasText(e)
    case MapType(k, v, _) => hasText(k) && hasText(v)
    case StructType(fields) => fields.forall(field => hasText(field.dataType))
    case _: UserDefinedType[_] | VariantType | _: GeometryType | _: GeographyType => false
    case _ => true
  }

  private object Interval {
    def unapply(dataType: DataType): Boolean =
      dataType.isInstanceOf[DayTimeIntervalType] || dataType.isInstanceOf[YearMonthIntervalType]
  }

  /** Whether a cast depends on a time zone or the range of times: it can fail in every mode but
    * `try_cast`.
    */
  private def isOfTimes(from: DataType, to: DataType): Boolean = (from, to) match {
    case (DateType, TimestampType | TimestampNTZType) => true
    case (TimestampType, TimestampNTZType) | (TimestampNTZType, TimestampType) => true
    case _ => false
  }

  /** Whether all values fit the target: those in the range that is known, else all of the type. */
  private def fits(from: DataType, to: DataType, known: Option[ValueRange]): Boolean =
    known.orElse(asNumber(from)).exists { range =>
      to match {
        case _: DayTimeIntervalType | _: YearMonthIntervalType => asNumber(to).exists(_.contains(range))
        case _: DecimalType => ValueBounds.ofType(to).exists(_.contains(range.rounded(scale(to))))
        case _ => ValueBounds.ofType(to).exists(_.contains(range.cut))
      }
    }

  private def scale(dataType: DataType): Int = dataType match {
    case d: DecimalType => d.scale
    case _ => 0
  }

  /** The range of values of the type as numbers: a time in seconds, an interval in its smallest
    * unit.
    */
  private def asNumber(dataType: DataType): Option[ValueRange] = dataType match {
    case BooleanType => Some(ValueRange(0, 1))
    case TimestampType => Some(longs(1000000))
    case _: TimeType => Some(ValueRange(0, BigDecimal("86399.999999999")))
    case DayTimeIntervalType(_, DayTimeIntervalType.DAY) => Some(longs(86400000000L).cut)
    case DayTimeIntervalType(_, DayTimeIntervalType.HOUR) => Some(longs(3600000000L).cut)
    case DayTimeIntervalType(_, DayTimeIntervalType.MINUTE) => Some(longs(60000000).cut)
    case DayTimeIntervalType(_, DayTimeIntervalType.SECOND) => Some(longs(1000000))
    case YearMonthIntervalType(_, YearMonthIntervalType.YEAR) =>
      Some(ValueRange(Int.MinValue / 12, Int.MaxValue / 12))
    case YearMonthIntervalType(_, YearMonthIntervalType.MONTH) => Some(ValueRange(Int.MinValue, Int.MaxValue))
    case _ => None
  }

  /** The range of a long that counts in parts of a unit, in whole units: `unit` of them make one.
    */
  private def longs(unit: Long): ValueRange = {
    def in(n: Long) = BigDecimal.exact(new java.math.BigDecimal(n).divide(
      new java.math.BigDecimal(unit),
      20,
      java.math.RoundingMode.DOWN
    ))
    ValueRange(in(Long.MinValue), in(Long.MaxValue))
  }
}
