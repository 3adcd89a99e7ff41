package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{NormalizeFloatingNumbers, NormalizeNaNAndZero}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils
import org.apache.spark.sql.types._

/** Values whose bytes are equal exactly if `=` is true: the engine requires this of a join key.
  *
  * Uses `NormalizeFloatingNumbers.normalize` and `DataType.asNullable`, private to Spark.
  */
object KeyBytes {

  /** The key as it must be stored: NaNs and zeros normalized, collated strings replaced by their
    * collation keys. The key itself if its bytes are comparable.
    */
  def stored(key: Expression): Expression =
    CollationKey.injectCollationKey(NormalizeFloatingNumbers.normalize(key))

  /** The key as the query has it, if Spark's own rules have already wrapped it for its hash joins.
    */
  def unwrapped(key: Expression): Expression = key match {
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(value)) => value
    case KnownFloatingPointNormalized(If(IsNull(struct), Literal(null, _), _: CreateNamedStruct)) => struct
    case KnownFloatingPointNormalized(ArrayTransform(array, _)) => array
    case _ => key
  }

  /** Both sides of an equi-join condition on collated strings, which Spark has replaced by their
    * collation keys.
    */
  def unwrapped(left: Expression, right: Expression): (Expression, Expression) =
    (unwrapped(left), unwrapped(right)) match {
      case (CollationKey(l), CollationKey(r)) if l.dataType == r.dataType => (l, r)
      case sides => sides
    }

  /** Whether [[stored]] yields comparable bytes for this type. */
  def comparable(dataType: DataType): Boolean = dataType match {
    case StructType(fields) => fields.forall(field => comparable(field.dataType))
    case ArrayType(element, _) => comparable(element)
    case _: StringType | BinaryType | BooleanType | _: NumericType => true
    case DateType | TimestampType | TimestampNTZType | _: TimeType => true // not times with nanoseconds
    case _: YearMonthIntervalType | _: DayTimeIntervalType => true
    case _ => false
  }

  /** Whether equal values of this type have equal bytes once zeros and NaNs are normalized: rows
    * can be grouped by it.
    */
  def groupable(dataType: DataType): Boolean = comparable(dataType) && UnsafeRowUtils.isBinaryStable(dataType)

  /** Whether Spark's hash partitioning accepts values of this type, and sends equal ones to one
    * partition.
    */
  def hashable(dataType: DataType): Boolean = !dataType.existsRecursively {
    case _: MapType | _: VariantType | _: CalendarIntervalType => true
    case _ => false
  }

  /** The type with every part nullable, and without metadata of its fields: nullability of columns
    * changes from batch to batch, and the watermark delay in a time's metadata may be different at
    * the next start.
    */
  def storedType(dataType: DataType): DataType = withoutMetadata(dataType.asNullable)

  /** The type without metadata of fields. */
  private def withoutMetadata(dataType: DataType): DataType = dataType match {
    case StructType(fields) =>
      StructType(fields.map(f => StructField(f.name, withoutMetadata(f.dataType), f.nullable)))
    case ArrayType(element, containsNull) => ArrayType(withoutMetadata(element), containsNull)
    case MapType(key, value, containsNull) => MapType(withoutMetadata(key), withoutMetadata(value), containsNull)
    case other => other
  }
}
