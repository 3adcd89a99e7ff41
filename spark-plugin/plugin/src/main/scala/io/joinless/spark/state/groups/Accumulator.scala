package io.joinless.spark.state.groups

import java.io.{DataInput, DataOutput}

import io.joinless.engine.algebra.{ExactSum, Weight}
import io.joinless.spark.plans.values.{SumPart, SumValue}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.TypeUtils
import org.apache.spark.sql.types._

/** The state of a group for an aggregate function of one argument, or its change by a batch. NULLs
  * do not count.
  */
abstract class Accumulator(ordinal: Int) {

  /** The number of arguments that are not NULL. */
  final var count = 0L

  /** Adds the argument of a row, `weight` times. */
  def add(row: InternalRow, weight: Long): Unit = if (!row.isNullAt(ordinal)) {
    count = Weight.add(count, weight)
    addValue(row, weight)
  }

  /** Adds the argument of a row, which is not NULL, to the state; the count has been changed
    * already.
    */
  protected def addValue(row: InternalRow, weight: Long): Unit

  /** Adds another accumulator of the same kind. */
  def add(that: Accumulator): Unit = count = Weight.add(count, that.count)

  /** Adds the bytes that another accumulator has written. */
  def add(in: DataInput): Unit = count = Weight.add(count, in.readLong())

  def write(out: DataOutput): Unit = out.writeLong(count)

  /** Applies a change of the number of copies of a value in the group.
    *
    * @param value in a row of one column
    * @param before how often the value was in the group
    * @param after how often it is now; 0 if it was deleted
    */
  private[state] def changed(value: UnsafeRow, before: Long, after: Long): Unit =
    if (before == 0L) add(value, 1L) else if (after == 0L) add(value, -1L)

  /** Searches the values of the group for a replacement of a deleted one, if needed. */
  private[state] def complete(values: HeldValues): Unit = ()

  /** Loads state that is not written but computed from the values of the group. */
  private[state] def load(values: HeldValues): Unit = ()
}

private[state] object Accumulator {

  /** Reads a row of one column, of `length` bytes. */
  def readValue(in: DataInput, length: Int): UnsafeRow = {
    val bytes = new Array[Byte](length)
    in.readFully(bytes)
    val row = new UnsafeRow(1)
    row.pointTo(bytes, length)
    row
  }

  /** Writes the length of a row, and the row. */
  def writeValue(out: DataOutput, value: UnsafeRow): Unit = {
    out.writeInt(value.getSizeInBytes)
    out.write(value.getBytes)
  }
}

/** The number of arguments that are not NULL. */
sealed class CountOf(ordinal: Int) extends Accumulator(ordinal) {

  override protected def addValue(row: InternalRow, weight: Long): Unit = ()
}

/** A count over rows that hold numbers of further arguments, in parts. */
final class CountsOf(ordinal: Int, parts: Seq[SumPart]) extends CountOf(ordinal) {

  override def add(row: InternalRow, weight: Long): Unit =
    count = Weight.add(count, SumPart.number(parts, row, ordinal, weight))
}

/** A sum of integers, of unscaled decimals, or of intervals. */
sealed class IntegerSumOf(ordinal: Int, dataType: DataType) extends Accumulator(ordinal) {
  val sum = new ExactSum

  override protected def addValue(row: InternalRow, weight: Long): Unit =
    SumValue.add(sum, row, ordinal, dataType, weight)

  override def add(that: Accumulator): Unit = {
    super.add(that)
    sum.add(that.asInstanceOf[IntegerSumOf].sum)
  }

  override def add(in: DataInput): Unit = {
    super.add(in)
    sum.add(ExactSum.read(in))
  }

  override def write(out: DataOutput): Unit = {
    super.write(out)
    sum.write(out)
  }
}

/** A sum over rows that hold the number of further arguments, and their sum, in parts. */
final class SumsOf(ordinal: Int, dataType: DataType, parts: Seq[SumPart]) extends IntegerSumOf(ordinal, dataType) {

  override def add(row: InternalRow, weight: Long): Unit = {
    count = Weight.add(count, SumPart.number(parts, row, ordinal, weight))
    SumPart.add(sum, parts, row, ordinal)
  }
}

/** A sum of doubles; those that are not finite are counted. */
final class DoubleSumOf(ordinal: Int, dataType: DataType) extends Accumulator(ordinal) {
  private val finite = new ExactSum
  private val others = new Array[Long](3) // NaN, infinity, -infinity

  def sum: Double = orOther(finite.toDouble)

  /** The sum divided by the number of values, which is not 0. */
  def mean: Double = orOther(finite.dividedBy(count))

  /** The sum as floating point has it: by the values that are not finite if there are any, else
    * `value`.
    */
  private def orOther(value: => Double): Double =
    if (others(0) != 0L || others(1) != 0L && others(2) != 0L) Double.NaN
    else if (others(1) != 0L) Double.PositiveInfinity
    else if (others(2) != 0L) Double.NegativeInfinity
    else value

  override protected def addValue(row: InternalRow, weight: Long): Unit = {
    val value = if (dataType == FloatType) row.getFloat(ordinal).toDouble else row.getDouble(ordinal)
    if (java.lang.Double.isFinite(value)) finite.add(value, weight)
    else addOther(if (value.isNaN) 0 else if (value > 0) 1 else 2, weight)
  }

  /** Counts a value that is not finite; `kind` is its index in `others`. */
  private def addOther(kind: Int, weight: Long): Unit = others(kind) = Weight.add(others(kind), weight)

  override def add(that: Accumulator): Unit = {
    super.add(that)
    val doubles = that.asInstanceOf[DoubleSumOf]
    finite.add(doubles.finite)
    others.indices.foreach(kind => addOther(kind, doubles.others(kind)))
  }

  override def add(in: DataInput): Unit = {
    super.add(in)
    finite.add(ExactSum.read(in))
    others.indices.foreach(addOther(_, in.readLong()))
  }

  override def write(out: DataOutput): Unit = {
    super.write(out)
    finite.write(out)
    others.foreach(out.writeLong)
  }
}

/** Copies a column of a row into a row of its own, and compares its values. One instance per task:
  * its code is generated.
  */
final class ValueReader(val ordinal: Int, dataType: DataType) {
  private[this] lazy val ordering = TypeUtils.getInterpretedOrdering(dataType)
  private[this] lazy val projection = UnsafeProjection.create(Seq(BoundReference(ordinal, dataType, nullable = true)))

  /** The column alone: the same row each time. */
  def apply(row: InternalRow): UnsafeRow = projection(row)

  /** Compares the column of a row with the value in a row of one column. */
  def compare(row: InternalRow, value: UnsafeRow): Int = compareAt(row, ordinal, value)

  /** Compares the values in rows of one column. */
  def compareValues(a: UnsafeRow, b: UnsafeRow): Int = compareAt(a, 0, b)

  /** Compares the column at a position of a row with the value in a row of one column. */
  private def compareAt(row: InternalRow, at: Int, value: UnsafeRow): Int =
    ordering.compare(row.get(at, dataType), value.get(0, dataType))
}

/** The least value, or the greatest.
  *
  * Of append-only rows it is the only state. If values can be deleted, the group also holds each
  * value. Then this accumulator counts each different value once, and searches for the extreme
  * again when it was deleted.
  *
  * @param sign 1 for the greatest, −1 for the least
  */
final class ExtremeOf(reader: ValueReader, sign: Int) extends Accumulator(reader.ordinal) {
  private var value: UnsafeRow = null
  private[this] var isDeleted = false

  /** The value, in a row of one column; null if there is none. */
  def extreme: UnsafeRow = value

  override protected def addValue(row: InternalRow, weight: Long): Unit =
    if (weight > 0) {
      if (value == null || sign * reader.compare(row, value) > 0) value = reader(row).copy()
    } else if (value != null && reader.compare(row, value) == 0) isDeleted = true

  override private[state] def complete(values: HeldValues): Unit = if (isDeleted) {
    value = null
    isDeleted = false
    values.read(_.foreach { case (row, _) => if (isBetter(row)) value = row.copy() })
  }

  /** Whether a value is further in the direction of the extreme than the one that is known. */
  private def isBetter(that: UnsafeRow): Boolean = value == null || sign * reader.compareValues(that, value) > 0

  override def add(that: Accumulator): Unit = {
    super.add(that)
    val other = that.asInstanceOf[ExtremeOf].value
    if (other != null && isBetter(other)) value = other
  }

  override def add(in: DataInput): Unit = {
    super.add(in)
    val length = in.readInt()
    if (length > 0) {
      val row = Accumulator.readValue(in, length)
      if (isBetter(row)) value = row
    }
  }

  override def write(out: DataOutput): Unit = {
    super.write(out)
    if (value == null) out.writeInt(0) else Accumulator.writeValue(out, value)
  }
}

/** The values that a group holds for one function, each with its number: rows of one column. */
trait HeldValues {

  /** Calls `read` with all values and their numbers; each row is valid until the next. */
  def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit
}

/** Values that a batch changes. */
trait GroupValuesKept extends HeldValues {

  /** Adds to the number of a value; returns the numbers before and after. */
  def change(value: UnsafeRow, by: Long): (Long, Long)
}
