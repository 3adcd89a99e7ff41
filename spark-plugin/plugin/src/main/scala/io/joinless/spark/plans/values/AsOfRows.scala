package io.joinless.spark.plans.values

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._

/** An as-of join of the rows of a group: each left row with the last right row at or before its
  * time, as an array.
  * {{{
  * row            left columns  right columns  is right  time
  *                t1, 5         NULL           false     10:05
  *                NULL          q1, 7          true      10:01
  *                NULL          q2, 8          true      10:04
  * value          t1, 5         q2, 8
  * }}}
  * Rows without a time have no match: a left row with a NULL time is emitted with NULLs in the
  * right columns, if rows without a match are.
  *
  * @param row a struct: the columns of both sides, those of the other side NULL; whether it is a
  *   right row; its time
  * @param order which of several right rows of one time is the match: the first one
  * @param left the number of left columns
  * @param forward the match is the first right row at or after the time, instead
  * @param strict a right row of the same time is no match
  * @param outer left rows without a match are emitted
  */
final case class AsOfRows(
    row: Expression,
    order: RowOrder,
    left: Int,
    forward: Boolean,
    strict: Boolean,
    outer: Boolean,
    override val mutableAggBufferOffset: Int = 0,
    override val inputAggBufferOffset: Int = 0
) extends RowsOfGroup {

  private def fields: Array[StructField] = row.dataType.asInstanceOf[StructType].fields

  /** The number of columns of both sides. */
  private[this] lazy val columns = fields.length - 2

  @transient private[this] lazy val types = fields.map(_.dataType)

  override def limit: Option[Int] = None

  override def dataType: DataType =
    ArrayType(StructType(fields.take(columns).map(_.copy(nullable = true))), containsNull = false)

  override def nullable: Boolean = false

  override def prettyName: String = "as_of_rows"

  /** The text by which the function is recorded. */
  override def sql(isDistinct: Boolean): String = {
    val which = (if (forward) " FORWARD" else "") + (if (strict) " STRICT" else "") + (if (outer) " OUTER" else "")
    s"$prettyName($left: $text$which)"
  }

  /** Whether a row, of one column, is one of the right side. */
  def isRight(value: UnsafeRow): Boolean = value.getStruct(0, columns + 2).getBoolean(columns)

  /** When a row is in the order in which matches are searched backwards, the row's own time
    * included; None if it has no time.
    */
  def time(value: UnsafeRow): Option[Long] = {
    val struct = value.getStruct(0, columns + 2)
    if (struct.isNullAt(columns + 1)) None
    else {
      val own = AsOfRows.long(struct, columns + 1, types(columns + 1))
      val ordered = if (forward) ~own else own
      if (!strict || struct.getBoolean(columns)) Some(ordered)
      else Option.when(ordered != Long.MinValue)(ordered - 1)
    }
  }

  /** A row of the result; `matched` may be null. Both are rows of one column. */
  def joined(leftRow: UnsafeRow, matched: UnsafeRow): InternalRow = {
    val values = new Array[Any](columns)
    val ofLeft = leftRow.getStruct(0, columns + 2)
    for (i <- 0 until left) values(i) = ofLeft.get(i, types(i))
    if (matched != null) {
      val ofRight = matched.getStruct(0, columns + 2)
      for (i <- left until columns) values(i) = ofRight.get(i, types(i))
    }
    new GenericInternalRow(values)
  }

  override def value(rows: Seq[UnsafeRow]): Any = {
    val best = new java.util.TreeMap[Long, UnsafeRow]
    rows.foreach(row => if (isRight(row)) time(row).foreach(best.putIfAbsent(_, row))) // the rows are in order
    val results = rows.iterator.filterNot(isRight).flatMap { row =>
      val entry = time(row).flatMap(t => Option(best.floorEntry(t)))
      if (entry.isEmpty && !outer) None else Some(joined(row, entry.fold[UnsafeRow](null)(_.getValue)))
    }
    new GenericArrayData(results.toArray[Any])
  }

  override def withNewMutableAggBufferOffset(offset: Int): AsOfRows = copy(mutableAggBufferOffset = offset)

  override def withNewInputAggBufferOffset(offset: Int): AsOfRows = copy(inputAggBufferOffset = offset)

  override protected def withNewChildInternal(newChild: Expression): AsOfRows = copy(row = newChild)
}

object AsOfRows {

  /** Whether values of a type can be times of an as-of join: they are integers to Spark. */
  def isTime(dataType: DataType): Boolean = dataType match {
    case TimestampType | TimestampNTZType | DateType | _: DayTimeIntervalType | _: YearMonthIntervalType => true
    case ByteType | ShortType | IntegerType | LongType => true
    case decimal: DecimalType => decimal.precision <= Decimal.MAX_LONG_DIGITS
    case _ => false
  }

  /** A value of such a type as a long that is ordered as the values are. */
  private def long(row: InternalRow, at: Int, dataType: DataType): Long = dataType match {
    case ByteType => row.getByte(at).toLong
    case ShortType => row.getShort(at).toLong
    case IntegerType | DateType | _: YearMonthIntervalType => row.getInt(at).toLong
    case decimal: DecimalType => row.getDecimal(at, decimal.precision, decimal.scale).toUnscaledLong
    case _ => row.getLong(at)
  }
}
