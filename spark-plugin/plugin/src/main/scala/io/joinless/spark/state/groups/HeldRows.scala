package io.joinless.spark.state.groups

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The rows of a group that a function reads by keys of their own, so that a change reads few of
  * them. They are entries of the group; only their number is written with its totals. All are
  * loaded where the whole result is read.
  */
final class HeldRows(reader: ValueReader) extends Accumulator(reader.ordinal) {
  private[this] val loaded = ArrayBuffer.empty[UnsafeRow]

  /** The rows, each as often as it is in the group: rows of one column. Only after `load`. */
  def rows: Iterable[UnsafeRow] = loaded

  override protected def addValue(row: InternalRow, weight: Long): Unit = ()

  override private[state] def changed(value: UnsafeRow, before: Long, after: Long): Unit = count += after - before

  override private[state] def load(values: HeldValues): Unit = values.read(_.foreach { case (value, number) =>
    val row = value.copy()
    var n = number
    while (n > 0) {
      loaded += row
      n -= 1
    }
  })
}
