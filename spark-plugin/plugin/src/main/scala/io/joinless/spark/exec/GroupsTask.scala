package io.joinless.spark.exec

import scala.jdk.CollectionConverters._

import io.joinless.engine.algebra.WeightOverflow
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.GroupFunction
import io.joinless.spark.state.{GroupArgument, GroupStore, GroupTotals}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.PrefixStore
import org.apache.spark.sql.types.{DataType, LongType}

/** One batch of one partition of groups: totals that a batch adds to groups in, changed groups out.
  *
  * All of the batch is read first. Then each touched group is read, changed and written, one at a time as its changes are asked
  * for; in the order in which groups first came. Without grouping columns there is one group, which is told in the first batch even if
  * it has no rows.
  *
  * @param keys types of the grouping columns
  * @param rows grouping columns, and totals as they were written
  */
final private class GroupsTask(
    keys: Seq[DataType],
    functions: Seq[GroupFunction],
    arguments: Array[GroupArgument],
    store: PrefixStore,
    rows: Iterator[InternalRow]
) {
  private[this] val groups = new TouchedGroups(arguments)
  private[this] val values = new GroupValues(functions)
  private[this] val columns = (keys ++ functions.map(_.function.dataType) :+ LongType).toArray[DataType]
  private[this] val (before, after) = (new Row(-1L), new Row(1L))
  private[this] val groupStore = new GroupStore(keys, arguments.exists(_.values), store)

  var changed = 0L
  var removed = 0L
  var told = 0L

  read()

  def touched: Long = groups.size.toLong

  private def read(): Unit = {
    val key = UnsafeProjection.create(keys.toArray)
    TouchedGroups.adding(rows.foreach(row => groups(key(row)).add(row.getBinary(keys.size))))
    if (keys.isEmpty) { val _ = groups(key(InternalRow.empty)) }
  }

  /** The changes; rows are the same objects each time. */
  def changes: Iterator[InternalRow] =
    groups.iterator.flatMap { case (group, batch) => change(group, batch) }.map { row =>
      told += 1
      row
    }

  private def change(group: UnsafeRow, batch: GroupTotals): Iterator[InternalRow] = {
    val stored = groupStore.totals(group)
    val exists = stored.isDefined
    val now = GroupTotals.kept(arguments)
    val values = groupStore.values(group, _)
    stored.foreach { totals =>
      now.add(totals)
      now.load(values)
      before.set(group, now)
    }
    TouchedGroups.adding(now.change(batch, values))
    if (now.rows < 0) throw new IllegalStateException(s"A group has ${now.rows} rows: more were deleted than inserted.")
    val remains = now.rows > 0 || keys.isEmpty
    if (remains) {
      groupStore.put(group, now.toBytes)
      changed += 1
      after.set(group, now)
    } else if (exists) {
      groupStore.remove(group)
      removed += 1
    }
    if (exists && remains && before.sameValues(after)) Iterator.empty
    else Iterator(Option.when(exists)(before.row), Option.when(remains)(after.row)).flatten
  }

  /** A group as it is told with a weight. */
  final private class Row(weight: Long) {
    private[this] val projection = UnsafeProjection.create(columns)
    private[this] val own = new GenericInternalRow(functions.size + 1)
    private[this] val joined = new JoinedRow
    private[this] val weightAt = columns.length - 1
    private[this] var projected: UnsafeRow = null

    own.setLong(functions.size, weight)

    def row: UnsafeRow = projected

    def set(group: UnsafeRow, totals: GroupTotals): Unit = {
      values.write(totals, own)
      projected = projection(joined(group, own))
    }

    /** Both rows are of one group; their weights do not count. */
    def sameValues(that: Row): Boolean = {
      projected.setLong(weightAt, that.row.getLong(weightAt))
      val same = projected == that.row
      projected.setLong(weightAt, weight)
      same
    }
  }
}

/** The groups that a batch touches, in the order in which they first come. */
final private class TouchedGroups(arguments: Array[GroupArgument]) {
  private[this] val groups = new java.util.LinkedHashMap[UnsafeRow, GroupTotals]

  def size: Int = groups.size

  /** The totals of a group, whose row is copied where it is new. */
  def apply(group: UnsafeRow): GroupTotals = {
    val known = groups.get(group)
    if (known != null) known
    else {
      val totals = GroupTotals.changes(arguments)
      groups.put(group.copy(), totals)
      totals
    }
  }

  def iterator: Iterator[(UnsafeRow, GroupTotals)] =
    groups.entrySet.iterator.asScala.map(entry => (entry.getKey, entry.getValue))
}

private object TouchedGroups {

  /** Runs `body`, in which totals are added. */
  def adding[A](body: => A): A =
    try body
    catch { case _: WeightOverflow => throw JoinlessErrors.weightOverflow() }
}
