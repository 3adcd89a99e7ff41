package io.joinless.spark.state.asof

import io.joinless.spark.plans.values.AsOfRows
import io.joinless.spark.state.groups.{GroupStore, GroupValuesKept, StoredGroups}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.PrefixStore
import org.apache.spark.sql.types.{BinaryType, DataType, IntegerType, LongType}

/** The groups of as-of joins of one partition in the store of a batch, which changes them. */
final class AsOfStore(keys: Seq[DataType], function: AsOfRows, store: PrefixStore)
    extends GroupStore(keys, holdsValues = true, isClosing = false, store) {
  import StoredAsOf._

  private[this] val entry = UnsafeProjection.create((keys ++ Seq(IntegerType, LongType, BinaryType)).toArray[DataType])
  private[this] val value = UnsafeProjection.create(Array[DataType](BinaryType))
  private[this] val joined = new JoinedRow

  /** The rows of the groups, in which nodes of times can be changed. */
  private[asof] val rows: StoredAsOf = new StoredAsOf(keys, store) {
    override protected def nodes(group: UnsafeRow, first: Int): OrderedLongs.Nodes = new OrderedLongs.Nodes {
      override def get(level: Int, bits: Long): Array[Byte] =
        Option(store.get(key(group, first + level, bits))).fold[Array[Byte]](null)(_.getBinary(0))

      override def put(level: Int, bits: Long, bytes: Array[Byte]): Unit =
        store.put(key(group, first + level, bits), value(InternalRow(bytes)))

      override def remove(level: Int, bits: Long): Unit = store.remove(key(group, first + level, bits))
    }
  }

  override protected def key(group: UnsafeRow): UnsafeRow = key(group, StoredGroups.OfGroup, 0L)

  private def key(group: UnsafeRow, part: Int, time: Long, row: Array[Byte] = Array.emptyByteArray): UnsafeRow =
    entry(joined(group, new GenericInternalRow(Array[Any](part, time, row))))

  /** The rows of a group, which can be changed. A time is added with its first row, and removed with
    * its last one.
    */
  override def values(group: UnsafeRow, accumulator: Int): GroupValuesKept = new GroupValuesKept {

    override def change(row: UnsafeRow, by: Long): (Long, Long) = {
      val time = function.time(row)
      val part = if (function.isRight(row)) Right else if (time.isDefined) Left else Untimed
      val (before, after) = changeNumber(key(group, part, time.getOrElse(0L), row.getBytes), by)
      if (part != Untimed && before == 0L && after > 0) rows.times(group, part).add(time.get)
      else if (part != Untimed && before > 0 && after == 0L && rows.at(group, part, time.get)(_.isEmpty))
        rows.times(group, part).remove(time.get)
      (before, after)
    }

    override def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit = rows.all(group).read(read)
  }
}
