package io.joinless.spark.source

import io.joinless.engine.enumerate.BoundField
import io.joinless.engine.tuples.KeyField
import io.joinless.spark.placement.CellsOfValues
import io.joinless.spark.spec.{BlockSpec, RowCodec}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform

/** A condition that a stored column has one of some values: `customer = 7`, `customer IN (7, 8)`,
  * `customer IS NULL`, and what OR makes of these.
  *
  * Only for types whose values are equal exactly if their stored bytes are.
  *
  * @param values as rows of one column
  */
final private[source] case class EqualValues(relation: Int, field: KeyField, values: Seq[UnsafeRow]) {

  /** The same for the engine. */
  def bound: BoundField = BoundField(
    relation,
    field,
    values.map { row =>
      Option.unless(row.isNullAt(0)) {
        val word = row.getLong(0)
        if (!field.variable) IndexedSeq(word)
        else {
          val (from, size) = (row.getBaseOffset + (word >>> 32), word.toInt)
          size.toLong +: IndexedSeq.tabulate((size + 7) / 8)(i => Platform.getLong(row.getBaseObject, from + 8L * i))
        }
      }
    }.toSet
  )
}

private[source] object EqualValues {

  /** A condition on stored rows as equal values; None if it is another one. */
  def of(filter: RelationFilter): Option[EqualValues] =
    found(filter.condition).filter(found => isComparedByBytes(found._1.dataType)).map { case (column, values) =>
      val row = UnsafeProjection.create(Array(column.dataType))
      val field = RowCodec.keyField(column.ordinal, column.dataType)
      EqualValues(filter.relation, field, values.distinct.map(value => row(InternalRow(value)).copy()))
    }

  /** The cells that can have results which pass the conditions. */
  def cells(spec: BlockSpec, filters: Seq[RelationFilter]): Seq[Int] =
    CellsOfValues(spec, filters.flatMap(of(_)).map(e => (e.relation, e.field.ordinal, e.values)))

  /** The column and its values. */
  private def found(condition: Expression): Option[(BoundReference, Seq[Any])] = condition match {
    case EqualTo(column: BoundReference, Literal(value, _)) => Some(column -> Seq(value).filter(_ != null))
    case EqualTo(Literal(value, _), column: BoundReference) => Some(column -> Seq(value).filter(_ != null))
    case EqualNullSafe(column: BoundReference, Literal(value, _)) => Some(column -> Seq(value))
    case EqualNullSafe(Literal(value, _), column: BoundReference) => Some(column -> Seq(value))
    case IsNull(column: BoundReference) => Some(column -> Seq(null))
    case In(column: BoundReference, list) if list.forall(_.isInstanceOf[Literal]) =>
      Some(column -> list.map(_.asInstanceOf[Literal].value).filter(_ != null))
    case InSet(column: BoundReference, values) => Some(column -> values.toSeq.filter(_ != null))
    case Or(left, right) =>
      for {
        (one, values) <- found(left)
        (other, more) <- found(right)
        if one.ordinal == other.ordinal
      } yield one -> (values ++ more)
    case _ => None
  }

  /** Whether values of a type are equal exactly if their stored bytes are. */
  def isComparedByBytes(dataType: DataType): Boolean = dataType match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType |
        BinaryType => true
    case decimal: DecimalType => decimal.precision <= Decimal.MAX_LONG_DIGITS
    case text: StringType => text == StringType
    case _ => false
  }
}
