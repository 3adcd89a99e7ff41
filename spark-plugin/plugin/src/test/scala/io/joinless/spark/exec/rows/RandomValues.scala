package io.joinless.spark.exec.rows

import scala.util.Random

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** Values of many types, a quarter of them NULL. */
private[exec] object RandomValues {

  val fixed: Seq[DataType] = Seq(LongType, IntegerType, BooleanType, DoubleType, DecimalType(10, 2), DateType)
  val variable: Seq[DataType] = Seq(
    StringType,
    DecimalType(38, 10),
    BinaryType,
    CalendarIntervalType,
    StructType(Seq(StructField("a", LongType), StructField("b", StringType))),
    ArrayType(LongType),
    MapType(LongType, StringType)
  )

  def value(t: DataType, r: Random): Any = if (r.nextInt(4) == 0) null
  else t match {
    case LongType => r.nextLong()
    case IntegerType | DateType => r.nextInt()
    case BooleanType => r.nextBoolean()
    case DoubleType => r.nextGaussian()
    case StringType => UTF8String.fromString(r.alphanumeric.take(r.nextInt(20)).mkString)
    case BinaryType => r.nextBytes(r.nextInt(30))
    case d: DecimalType =>
      Decimal(BigDecimal(BigInt(if (d.precision > 18) r.nextInt(120) else 30, r), d.scale), d.precision, d.scale)
    case CalendarIntervalType => new CalendarInterval(r.nextInt(), r.nextInt(), r.nextLong())
    case s: StructType => InternalRow.fromSeq(s.map(f => value(f.dataType, r)))
    case ArrayType(e, _) => new GenericArrayData(Array.fill[Any](r.nextInt(4))(value(e, r)))
    case MapType(_, v, _) =>
      val n = r.nextInt(4)
      new ArrayBasedMapData(
        new GenericArrayData((0 until n).map(_.toLong).toArray[Any]),
        new GenericArrayData(Array.fill[Any](n)(value(v, r)))
      )
    case other => throw new MatchError(other)
  }
}
