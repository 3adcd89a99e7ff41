package io.joinless.spark.plans.failures

import scala.util.{Random, Try}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Cast, EvalMode}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.sql.types.DayTimeIntervalType.{DAY, HOUR, MINUTE}
import org.apache.spark.sql.types.YearMonthIntervalType.{MONTH, YEAR}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}
import org.scalatest.funsuite.AnyFunSuite

/** The rules on casts agree with Spark's own `Cast`, evaluated on values of all sizes: for a pair
  * of types that cannot fail no value fails, and for one that can fail some value does.
  */
class CastRulesSpec extends AnyFunSuite {

  private val decimals =
    for (
      (p, s) <- Seq(
        1 -> 0,
        1 -> 1,
        3 -> 0,
        3 -> 1,
        5 -> 2,
        10 -> 0,
        12 -> 2,
        18 -> 0,
        19 -> 0,
        19 -> 6,
        20 -> 6,
        38 -> 0,
        38 -> 4,
        38 -> 38
      )
    )
      yield DecimalType(p, s)
  private val intervals =
    Seq(DayTimeIntervalType(DAY), DayTimeIntervalType(DAY, HOUR), DayTimeIntervalType(MINUTE), DayTimeIntervalType()) ++
      Seq(YearMonthIntervalType(YEAR), YearMonthIntervalType(MONTH))
  private val types: Seq[DataType] =
    Seq(BooleanType, ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType) ++ decimals ++ intervals ++
      Seq(
        StringType,
        BinaryType,
        DateType,
        TimestampType,
        TimestampNTZType,
        TimeType(0),
        TimeType(6),
        CalendarIntervalType
      )

  private val random = new Random(7)
  private val sizes = (0 until 64).map(1L << _).flatMap(n => Seq(n, -n, n - 1, 1 - n)) ++
    Seq(Long.MinValue, Long.MaxValue, Int.MinValue.toLong, Int.MaxValue.toLong) ++ Seq.fill(40)(random.nextLong())
  private val reals =
    sizes.map(_.toDouble) ++ Seq(0.5, -0.0, 1e300, -1e300, Double.NaN, Double.PositiveInfinity, Double.MinPositiveValue)

  private def decimalsOf(d: DecimalType): Seq[Decimal] = {
    val most = BigInt(10).pow(d.precision) - 1
    val unscaled = Seq(most, -most, BigInt(0), most / 2, most / 10, -most / 10) ++ sizes.map(BigInt(_) % most)
    unscaled.map(n => Decimal(BigDecimal(new java.math.BigDecimal(n.bigInteger, d.scale)), d.precision, d.scale))
  }

  private def values(of: DataType): Seq[Any] = of match {
    case BooleanType => Seq(true, false)
    case ByteType => sizes.map(_.toByte)
    case ShortType => sizes.map(_.toShort)
    case IntegerType | DateType | _: YearMonthIntervalType => sizes.map(_.toInt)
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType => sizes
    case FloatType => reals.map(_.toFloat) :+ Float.MaxValue
    case DoubleType => reals
    case d: DecimalType => decimalsOf(d)
    case _: TimeType => sizes.map(Math.floorMod(_, 86400000000000L)) :+ 86399999999999L
    case StringType =>
      Seq("", "x", "1", "-9", "1e99", "true", "2020-01-01", "interval 1 day", "99999999999999999999", "12:00:00", "5-3")
        .map(UTF8String.fromString)
    case BinaryType => Seq(Array.emptyByteArray, Array[Byte](-1, 3))
    case CalendarIntervalType =>
      Seq(new CalendarInterval(1, 2, 3), new CalendarInterval(Int.MinValue, Int.MaxValue, Long.MinValue))
    case ArrayType(e, _) => values(e).map(v => new GenericArrayData(Array[Any](v)))
    case StructType(Array(field)) => values(field.dataType).map(v => InternalRow(v))
    case other => throw new MatchError(other)
  }

  private def cast(from: DataType, to: DataType, mode: EvalMode.Value): Option[Cast] =
    Some(Cast(BoundReference(0, from, nullable = true), to, Some("America/New_York"), mode)).filter(
      _.checkInputDataTypes().isSuccess
    )

  /** A value on which the cast fails, in memory or in generated code alike. */
  private def failing(cast: Cast): Option[Any] =
    values(cast.child.dataType).find(v => Try(cast.eval(InternalRow(v))).isFailure)

  /** Settings in which there are times of a day. */
  private val settings = {
    val settings = new SQLConf
    settings.setConfString("spark.sql.timeType.enabled", "true")
    settings
  }

  private val modes = Seq(EvalMode.ANSI, EvalMode.LEGACY, EvalMode.TRY)

  private def wrong(pairs: Seq[(DataType, DataType)]): Seq[String] = SQLConf.withExistingConf(settings)(for {
    (from, to) <- pairs
    mode <- modes
    cast <- cast(from, to, mode)
    said = CastRules.canFail(cast)
    failure = failing(cast)
    if said != failure.isDefined
  } yield s"${from.sql} as ${to.sql}, $mode: said $said, fails on $failure")

  test("a cast is said to fail if and only if some value of its type fails") {
    val found = wrong(for (from <- types; to <- types) yield (from, to))
    assert(found.isEmpty, found.mkString("\n", "\n", ""))
  }

  test("a nested value fails where a part fails") {
    val some = Seq(
      ByteType,
      LongType,
      DoubleType,
      StringType,
      DateType,
      TimestampType,
      DecimalType(3, 1),
      DecimalType(20, 6),
      DecimalType(38, 4)
    )
    val pairs = for (from <- some; to <- some) yield (from, to)
    val found = wrong(pairs.flatMap { case (from, to) =>
      Seq(
        ArrayType(from) -> ArrayType(to),
        StructType(Seq(StructField("x", from))) -> StructType(Seq(StructField("y", to))),
        ArrayType(from) -> StringType
      )
    })
    assert(found.isEmpty, found.mkString("\n", "\n", ""))
  }

  test("what is said to fail by size only fails on no date of a calendar's years") {
    for {
      (from, to) <- Seq(DateType -> TimestampType, DateType -> TimestampNTZType, TimestampType -> TimestampNTZType)
      cast <- cast(from, to, EvalMode.ANSI)
    } {
      assert(CastRules.canFail(cast) && CastRules.isOnlyTooLarge(cast))
      assert(Try(cast.eval(InternalRow(if (from == DateType) 2932896 else 253402300799000000L))).isSuccess)
    }
  }
}
