package io.joinless.spark.state.groups

import java.io.{DataInput, DataOutput}

import scala.jdk.CollectionConverters._

import io.joinless.engine.algebra.Weight
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** Values of a group, each different one with its weight. A value of weight 0 is none. */
abstract class WeightedValues(reader: ValueReader) extends Accumulator(reader.ordinal) {
  final protected val weights = new java.util.LinkedHashMap[UnsafeRow, java.lang.Long]

  override protected def addValue(row: InternalRow, weight: Long): Unit = addValue(reader(row), weight)

  /** Adds to the weight of a value; a value of weight 0 is not listed. */
  final protected def addValue(value: UnsafeRow, weight: Long): Unit = {
    val before = weights.get(value)
    if (before == null) weights.put(value.copy(), weight)
    else {
      val sum = Weight.add(before, weight)
      if (sum == 0L) weights.remove(value) else weights.put(value, sum)
    }
    ()
  }

  override def add(in: DataInput): Unit = {
    super.add(in)
    for (_ <- 0 until in.readInt()) addValue(Accumulator.readValue(in, in.readInt()), in.readLong())
  }

  override def write(out: DataOutput): Unit = {
    super.write(out)
    out.writeInt(weights.size)
    weights.forEach { (value, weight) =>
      Accumulator.writeValue(out, value)
      out.writeLong(weight)
    }
  }
}

/** The change of a group's values by a batch. */
final class ValueChanges(reader: ValueReader) extends WeightedValues(reader) {

  /** The changed values with their weights. */
  def changes: Iterable[(UnsafeRow, Long)] = weights.asScala.view.mapValues(_.longValue)

  /** Applies the changes to the values, and to the accumulator over them: values that are new, and
    * those that are deleted.
    */
  def applyTo(kept: Accumulator, values: GroupValuesKept): Unit = {
    weights.forEach { (value, weight) =>
      val (before, after) = values.change(value, weight)
      kept.changed(value, before, after)
    }
    kept.complete(values)
  }
}

/** The rows of a declared key: in a store there is one, once. While the changes of a batch are
  * added up, there may be others, and rows with a negative weight:
  * {{{
  * stored      (Ann) 1
  * the batch   (Ann) -1, (Bob) 1       netted, in any order
  * then        (Bob) 1
  * }}}
  */
final class RowsOfKey(reader: ValueReader) extends WeightedValues(reader) {

  /** The only row, as a row of one column; None if there is another one, or none. */
  def only: Option[UnsafeRow] =
    Option.when(count == 1L && weights.size == 1)(first)

  /** One of the rows, if there are any. */
  def first: UnsafeRow = weights.keySet.iterator.next()

  override def add(that: Accumulator): Unit = {
    super.add(that)
    that.asInstanceOf[RowsOfKey].weights.forEach((value, weight) => addValue(value, weight))
  }
}
