package io.joinless.spark.state.groups

import java.nio.ByteBuffer

import io.joinless.engine.algebra.Weight
import io.joinless.spark.spec.GroupShape
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.{PrefixScan, PrefixStore}
import org.apache.spark.sql.types._

/** The groups of one partition, as their state store holds them.
  *
  * '''Durable format''' ([[io.joinless.spark.spec.GroupFormat]] 1): key and value of an entry are
  * {{{
  * no function holds values    (grouping columns)                    totals
  * some do                     (grouping columns, -1, empty)         totals
  *                             (grouping columns, function, value)   a value's number, a long
  * }}}
  * where `function` is the number of its accumulator, and `value` are the bytes of an `UnsafeRow`
  * of one column. If groups close, there is one more entry, whose grouping columns are all NULL.
  * Its value is the time when the next group closes: milliseconds, a long. (Such a group has no
  * time, so it is not stored.)
  */
class StoredGroups(keys: Seq[DataType], holdsValues: Boolean, isClosing: Boolean, store: PrefixScan) {
  import StoredGroups._

  private[this] val prefix = UnsafeProjection.create((keys :+ IntegerType).toArray[DataType])
  private[this] val grouping = UnsafeProjection.create(keys.toArray)
  private[this] val joined = new JoinedRow

  /** The group of an entry with its totals; None if it is the entry of a group's value, or of no
    * group. The group is the same object each time.
    */
  def group(entry: (UnsafeRow, UnsafeRow)): Option[(UnsafeRow, Array[Byte])] = {
    val (key, value) = entry
    Option.when((!holdsValues || key.getInt(keys.size) == OfGroup) && !(isClosing && isOfNone(key)))(
      (grouping(key), value.getBinary(0))
    )
  }

  /** Whether the key is that of the next closing time. */
  private def isOfNone(key: UnsafeRow): Boolean = keys.indices.forall(key.isNullAt)

  /** The values that a group holds for a function, by the number of its accumulator. */
  def values(group: UnsafeRow, function: Int): HeldValues = new HeldValues {
    override def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit = StoredGroups.this.read(group, function)(read)
  }

  /** What `read` returns for the values that a group holds for a function, each with the number of
    * its copies. The row is the same object each time. The iterator ends with the call.
    *
    * @param function the number of its accumulator
    */
  final protected def read[A](group: UnsafeRow, function: Int)(read: Iterator[(UnsafeRow, Long)] => A): A = {
    val row = new UnsafeRow(1)
    store.scan(prefix(joined(group, InternalRow(function)))) { entries =>
      read(entries.map { case (key, number) =>
        val bytes = key.getBinary(keys.size + 1)
        row.pointTo(bytes, bytes.length)
        (row, StoredGroups.number(number))
      })
    }
  }
}

object StoredGroups {

  /** Replaces the number of a function in the key of the group's totals. */
  final private[state] val OfGroup = -1

  /** The number in an entry's value. */
  private[state] def number(value: UnsafeRow): Long = ByteBuffer.wrap(value.getBinary(0)).getLong

  val ValueSchema: StructType = StructType(Seq(StructField("totals", BinaryType, nullable = false)))

  /** The columns of keys. Where rows are found by their times
    * ([[io.joinless.spark.state.asof.StoredAsOf]]), these are columns, too.
    */
  def keySchema(shape: GroupShape): StructType = {
    val columns = shape.columns.zipWithIndex.map { case (column, i) => StructField(s"c$i", column.dataType) }
    def column(name: String, dataType: DataType) = StructField(name, dataType, nullable = false)
    val value = column("value", BinaryType)
    StructType(
      if (shape.isAsOf) columns ++ Seq(column("part", IntegerType), column("time", LongType), value)
      else if (shape.holdsValues) columns ++ Seq(column("function", IntegerType), value)
      else columns
    )
  }

  /** The length of the key prefix that finds a group's values: the group and the function; or the
    * group, the part and the time.
    */
  def keyPrefix(shape: GroupShape): Option[Int] =
    Option.when(shape.holdsValues)(shape.columns.size + (if (shape.isAsOf) 2 else 1))
}

/** The groups of one partition in the store of a batch, which changes them. */
class GroupStore(keys: Seq[DataType], holdsValues: Boolean, isClosing: Boolean, store: PrefixStore)
    extends StoredGroups(keys, holdsValues, isClosing, store) {

  private[this] val kept = UnsafeProjection.create(Array[DataType](BinaryType))
  private[this] val entry = UnsafeProjection.create((keys ++ Seq(IntegerType, BinaryType)).toArray[DataType])
  private[this] val joined = new JoinedRow

  /** The totals of a group; None if there is no such group. */
  def totals(group: UnsafeRow): Option[Array[Byte]] = Option(store.get(key(group))).map(_.getBinary(0))

  /** Stores the totals of a group. */
  def put(group: UnsafeRow, totals: Array[Byte]): Unit = store.put(key(group), kept(InternalRow(totals)))

  /** Removes a group that holds no values any more. */
  def remove(group: UnsafeRow): Unit = store.remove(key(group))

  /** Removes the values that a group holds for a function. */
  def removeValues(group: UnsafeRow, function: Int): Unit = {
    val held = read(group, function)(_.map(_._1.copy()).toArray)
    held.foreach(value => store.remove(entry(joined(group, InternalRow(function, value.getBytes)))))
  }

  private[this] lazy val none =
    UnsafeProjection.create(keys.toArray).apply(new GenericInternalRow(keys.size)).copy()

  /** The time when the next group closes; the greatest long if there is none. Milliseconds. */
  def nextClose: Long = Option(store.get(key(none))).fold(Long.MaxValue)(StoredGroups.number)

  def nextClose_=(time: Long): Unit =
    if (time == Long.MaxValue) store.remove(key(none))
    else store.put(key(none), kept(InternalRow(ByteBuffer.allocate(8).putLong(time).array)))

  /** Adds to the number that an entry has; returns it before and after. An entry of 0 is removed. */
  final protected def changeNumber(key: UnsafeRow, by: Long): (Long, Long) = {
    val before = Option(store.get(key)).fold(0L)(StoredGroups.number)
    val after = Weight.add(before, by)
    if (after < 0) throw new IllegalStateException(s"A group holds a value $after times.")
    if (after == 0L) store.remove(key)
    else store.put(key, kept(InternalRow(ByteBuffer.allocate(8).putLong(after).array)))
    (before, after)
  }

  /** The key of a group's totals. */
  protected def key(group: UnsafeRow): UnsafeRow =
    if (holdsValues) entry(joined(group, InternalRow(StoredGroups.OfGroup, Array.emptyByteArray))) else group

  /** The values that a group holds for a function, which can be changed. */
  override def values(group: UnsafeRow, function: Int): GroupValuesKept = new GroupValuesKept {

    override def change(value: UnsafeRow, by: Long): (Long, Long) = {
      changeNumber(entry(joined(group, InternalRow(function, value.getBytes))), by)
    }

    override def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit = GroupStore.this.read(group, function)(read)
  }
}
