package io.joinless.spark.state

import java.nio.ByteBuffer

import io.joinless.engine.algebra.Weight
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.PrefixStore
import org.apache.spark.sql.types._

/** The groups of one partition in its state store.
  *
  * '''Durable format''' ([[io.joinless.spark.spec.GroupFormat]] 1): key and value of an entry are
  * {{{
  * no function holds values    (grouping columns)                    totals
  * some do                     (grouping columns, -1, empty)         totals
  *                             (grouping columns, function, value)   number, a long: a value that the group holds
  * }}}
  * where `function` is the number of its accumulator, and `value` are the bytes of an `UnsafeRow` of one column.
  */
final class GroupStore(keys: Seq[DataType], holdsValues: Boolean, store: PrefixStore) {
  import GroupStore._

  private[this] val kept = UnsafeProjection.create(Array[DataType](BinaryType))
  private[this] val entry = UnsafeProjection.create((keys ++ Seq(IntegerType, BinaryType)).toArray[DataType])
  private[this] val prefix = UnsafeProjection.create((keys :+ IntegerType).toArray[DataType])
  private[this] val joined = new JoinedRow

  /** What is kept of a group; None where there is no such group. */
  def totals(group: UnsafeRow): Option[Array[Byte]] = Option(store.get(key(group))).map(_.getBinary(0))

  def put(group: UnsafeRow, totals: Array[Byte]): Unit = store.put(key(group), kept(InternalRow(totals)))

  /** Removes a group that holds no values any more. */
  def remove(group: UnsafeRow): Unit = store.remove(key(group))

  private def key(group: UnsafeRow): UnsafeRow =
    if (holdsValues) entry(joined(group, InternalRow(OfGroup, Array.emptyByteArray))) else group

  /** The values that a group holds for a function. */
  def values(group: UnsafeRow, function: Int): GroupValuesKept = new GroupValuesKept {

    override def change(value: UnsafeRow, by: Long): (Long, Long) = {
      val key = entry(joined(group, InternalRow(function, value.getBytes)))
      val before = Option(store.get(key)).fold(0L)(GroupStore.number)
      val after = Weight.add(before, by)
      if (after < 0) throw new IllegalStateException(s"A group holds a value $after times.")
      if (after == 0L) store.remove(key)
      else store.put(key, kept(InternalRow(ByteBuffer.allocate(8).putLong(after).array)))
      (before, after)
    }

    override def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit = {
      val row = new UnsafeRow(1)
      store.scan(prefix(joined(group, InternalRow(function)))) { entries =>
        read(entries.map { case (key, number) =>
          val bytes = key.getBinary(keys.size + 1)
          row.pointTo(bytes, bytes.length)
          (row, GroupStore.number(number))
        })
      }
    }
  }
}

object GroupStore {

  private def number(value: UnsafeRow): Long = ByteBuffer.wrap(value.getBinary(0)).getLong

  /** In the place of a function: what is kept of the group itself. */
  final private val OfGroup = -1

  val ValueSchema: StructType = StructType(Seq(StructField("totals", BinaryType, nullable = false)))

  def keySchema(keys: Seq[DataType], holdsValues: Boolean): StructType = {
    val columns = keys.zipWithIndex.map { case (dataType, i) => StructField(s"c$i", dataType) }
    val value =
      Seq(StructField("function", IntegerType, nullable = false), StructField("value", BinaryType, nullable = false))
    StructType(if (holdsValues) columns ++ value else columns)
  }
}
