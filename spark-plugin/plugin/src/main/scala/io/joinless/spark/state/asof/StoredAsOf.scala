package io.joinless.spark.state.asof

import io.joinless.spark.state.groups.{HeldValues, StoredGroups}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.PrefixScan
import org.apache.spark.sql.types.{DataType, IntegerType, LongType}

/** The rows of as-of joins, as the state store of one partition holds them: those of a group by
  * their side and time, and the times of each side as an ordered set.
  *
  * '''Durable format''' ([[io.joinless.spark.spec.GroupFormat]] 1): key and value of an entry are
  * {{{
  * (grouping columns, -1, 0, empty)                   totals of the group
  * (grouping columns, part, time, row)                a row's number, a long
  * (grouping columns, first + level, prefix, empty)   a node of the times of a part
  * }}}
  * where `row` are the bytes of an `UnsafeRow` of one column; parts are 0 for left rows, 1 for
  * right rows, 2 for left rows without a time, whose time is 0; `first` is 16 for the times of left
  * rows and 32 for those of right rows ([[OrderedLongs]]).
  */
class StoredAsOf(keys: Seq[DataType], store: PrefixScan) {
  import StoredAsOf._

  private[this] val prefix = UnsafeProjection.create((keys ++ Seq(IntegerType, LongType)).toArray[DataType])
  private[this] val joined = new JoinedRow

  /** The rows of a group: all parts, and each in the order of its times. */
  final def all(group: UnsafeRow): HeldValues = new HeldValues {
    override def read(read: Iterator[(UnsafeRow, Long)] => Unit): Unit = {
      for (part <- Seq(Left, Right); time <- times(group, part).iterator) at(group, part, time)(read)
      at(group, Untimed, 0L)(read)
    }
  }

  /** Calls `read` with the rows of a part of a group that have this time, each with its number. The
    * row is the same object each time.
    */
  final private[asof] def at[A](group: UnsafeRow, part: Int, time: Long)(read: Iterator[(UnsafeRow, Long)] => A): A = {
    val row = new UnsafeRow(1)
    store.scan(prefix(joined(group, pair(part, time)))) { entries =>
      read(entries.map { case (key, number) =>
        val bytes = key.getBinary(keys.size + 2)
        row.pointTo(bytes, bytes.length)
        (row, StoredGroups.number(number))
      })
    }
  }

  /** The times of left rows, or of right rows. */
  final private[asof] def times(group: UnsafeRow, part: Int): OrderedLongs =
    new OrderedLongs(nodes(group, FirstNode(part)))

  /** The nodes of an ordered set of times of a group.
    *
    * @param first the part of the lowest level
    */
  protected def nodes(group: UnsafeRow, first: Int): OrderedLongs.Nodes = new OrderedLongs.Nodes {
    override def get(level: Int, bits: Long): Array[Byte] =
      store.scan(prefix(joined(group, pair(first + level, bits))))(_.map(_._2.getBinary(0)).nextOption().orNull)

    override def put(level: Int, bits: Long, bytes: Array[Byte]): Unit = throw new UnsupportedOperationException

    override def remove(level: Int, bits: Long): Unit = throw new UnsupportedOperationException
  }

  private def pair(part: Int, time: Long): InternalRow = new GenericInternalRow(Array[Any](part, time))
}

private[asof] object StoredAsOf {

  /** The parts of the rows of a group. */
  final val Left = 0
  final val Right = 1
  final val Untimed = 2

  /** The part of the lowest level of nodes of the times of a part. */
  val FirstNode: Map[Int, Int] = Map(Left -> 16, Right -> 32)
}
