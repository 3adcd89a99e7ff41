package io.joinless.spark.exec.groups

import scala.collection.mutable.ArrayBuffer

import io.joinless.spark.plans.values.GroupFunction
import io.joinless.spark.spec.GroupShape
import io.joinless.spark.state.groups.{CloseTimes, GroupArgument, GroupStore, GroupTotals}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.joinless.PrefixStore
import org.apache.spark.sql.types.{DataType, LongType}

/** One batch of one partition of groups: the totals that a batch adds to groups in, the changes of
  * groups out.
  *
  * `read` reads all of the batch first. Then `changes` applies it while it is iterated, one group
  * at a time, in the order in which groups first occur.
  *
  * @param rows grouping columns, and totals as they were written
  */
abstract private class GroupsTask(
    shape: GroupShape,
    functions: Seq[GroupFunction],
    arguments: Array[GroupArgument],
    store: PrefixStore,
    rows: Iterator[InternalRow]
) {
  final protected val keys: Seq[DataType] = shape.columns.map(_.dataType)
  final protected val groups = new TouchedGroups(arguments)
  final protected lazy val groupStore: GroupStore = openGroups
  private[this] val values = new GroupValues(functions)
  private[this] val keyCheck = KeyCheck.of(functions, shape)

  /** The types of emitted rows: grouping columns, functions, the weight. */
  final protected val columns: Array[DataType] = (keys ++ functions.map(_.function.dataType) :+ LongType).toArray

  var changed = 0L
  var removed = 0L
  var emitted = 0L

  /** Rows of groups that are closed. */
  var late = 0L

  /** The time when the next group closes, after all changes are emitted. Milliseconds. */
  def nextClose: Long = Long.MaxValue

  final def touched: Long = groups.size.toLong

  /** The groups in the store. */
  protected def openGroups: GroupStore = new GroupStore(keys, shape.holdsValues, shape.isClosing, store)

  /** Whether the group accepts rows. */
  protected def takes(group: UnsafeRow): Boolean

  /** Whether a group that accepts no rows is closed. */
  protected def isClosed(group: UnsafeRow): Boolean = false

  /** The changes of groups to emit; rows may be the same object each time. */
  protected def emittedRows: Iterator[UnsafeRow]

  /** Reads the batch: adds up the totals of each group that accepts rows, counts the rows of closed
    * ones, and drops all others. The group of all rows exists without rows, too.
    */
  final def read(): Unit = {
    val key = UnsafeProjection.create(keys.toArray)
    TouchedGroups.adding(rows.foreach { row =>
      val (group, totals) = (key(row), row.getBinary(keys.size))
      if (takes(group)) groups(group).add(totals)
      else if (isClosed(group)) late += GroupTotals.rowsIn(totals)
    })
    if (keys.isEmpty) { val _ = groups(key(InternalRow.empty)) }
  }

  /** The changes to emit. Groups are updated while it is iterated, so it must be read to its end;
    * once.
    */
  final def changes: Iterator[InternalRow] = emittedRows.map { row =>
    emitted += 1
    row
  }

  /** The state that is kept of a group: its stored totals, and the values that are stored next to
    * it.
    */
  final protected def load(group: UnsafeRow, totals: Array[Byte]): GroupTotals = {
    val now = GroupTotals.kept(arguments)
    now.add(totals)
    now.load(groupStore.values(group, _))
    now
  }

  /** Adds the batch's totals to those of a group, and changes the values that are stored next to
    * it.
    */
  final protected def takeIn(group: UnsafeRow, now: GroupTotals, batch: GroupTotals): Unit = {
    TouchedGroups.adding(now.change(batch, groupStore.values(group, _)))
    keyCheck.foreach(_(group, now))
    if (now.rows < 0) throw new IllegalStateException(s"A group has ${now.rows} rows: more were deleted than inserted.")
  }

  /** Stores the totals of a group. */
  final protected def put(group: UnsafeRow, now: GroupTotals): Unit = {
    groupStore.put(group, now.toBytes)
    changed += 1
  }

  /** Removes the totals of a group from the store. */
  final protected def remove(group: UnsafeRow): Unit = {
    groupStore.remove(group)
    removed += 1
  }

  /** A group as a row that is emitted with a weight. */
  final protected class Row(weight: Long) {
    private[this] val projection = UnsafeProjection.create(columns)
    private[this] val own = new GenericInternalRow(functions.size + 1)
    private[this] val joined = new JoinedRow
    private[this] val weightAt = columns.length - 1
    private[this] var projected: UnsafeRow = null

    own.setLong(functions.size, weight)

    def row: UnsafeRow = projected

    /** Makes this the row of a group with these totals. */
    def set(group: UnsafeRow, totals: GroupTotals): Unit = {
      values.write(totals, own)
      projected = projection(joined(group, own))
    }

    /** Whether both rows have the same values. Both are of one group; weights are not compared. */
    def sameValues(that: Row): Boolean = {
      projected.setLong(weightAt, that.row.getLong(weightAt))
      val same = projected == that.row
      projected.setLong(weightAt, weight)
      same
    }
  }
}

/** Groups that are emitted whenever they change: with their old values, and with their new ones.
  * Without grouping columns there is one group, which is emitted in the first batch even if it has
  * no rows.
  */
final private class ChangingGroups(
    shape: GroupShape,
    functions: Seq[GroupFunction],
    arguments: Array[GroupArgument],
    store: PrefixStore,
    rows: Iterator[InternalRow]
) extends GroupsTask(shape, functions, arguments, store, rows) {
  private[this] val (before, after) = (new Row(-1L), new Row(1L))

  override protected def takes(group: UnsafeRow): Boolean = true

  override protected def emittedRows: Iterator[UnsafeRow] = groups.iterator.flatMap { case (group, batch) =>
    change(group, batch)
  }

  /** Adds the changes of the batch to a group, and returns its changes: the row before with weight
    * −1, the row after with weight 1; nothing where both are equal. A group without rows is
    * removed, but not that of all rows.
    */
  private def change(group: UnsafeRow, batch: GroupTotals): Iterator[UnsafeRow] = {
    val stored = groupStore.totals(group)
    val wasStored = stored.isDefined
    val now = stored.fold(GroupTotals.kept(arguments))(load(group, _))
    if (wasStored) before.set(group, now)
    takeIn(group, now, batch)
    val remains = now.rows > 0 || keys.isEmpty
    if (remains) {
      put(group, now)
      after.set(group, now)
    } else if (wasStored) remove(group)
    if (wasStored && remains && before.sameValues(after)) Iterator.empty
    else Iterator(Option.when(wasStored)(before.row), Option.when(remains)(after.row)).flatten
  }
}

/** Groups that are emitted once, when they close, and then dropped; groups of which only the key is
  * projected are emitted with their first row (algorithms A56).
  * {{{
  * batch 7, rows late up to 10:00, watermark 10:05
  *   accepts      rows of the window that ends at 10:05, and of later ones; not of the one that
  *                ended at 10:00
  *   emits        the window that ends at 10:05; its entry is dropped
  *   notes        the next window closes at 10:10: before that, no batch scans the groups
  * }}}
  * Input is append-only. Cost of a batch: one read and one write of the store per group that it
  * touches; if some group closes, one look at each open group.
  */
final private class ClosingGroups(
    shape: GroupShape,
    functions: Seq[GroupFunction],
    arguments: Array[GroupArgument],
    store: PrefixStore,
    rows: Iterator[InternalRow],
    lateUntil: Long,
    watermark: Long
) extends GroupsTask(shape, functions, arguments, store, rows) {
  private[this] val times = new CloseTimes(shape)
  private[this] val row = new Row(1L)
  private[this] val nextBefore = groupStore.nextClose
  private[this] var next = nextBefore // the time at which the next group closes

  override def nextClose: Long = next

  override protected def takes(group: UnsafeRow): Boolean = {
    val time = times.of(group)
    time > lateUntil && time != Long.MaxValue
  }

  override protected def isClosed(group: UnsafeRow): Boolean = times.of(group) <= lateUntil

  override protected def emittedRows: Iterator[UnsafeRow] =
    groups.iterator.flatMap { case (group, batch) => updated(group, batch) } ++ closed

  /** Adds the changes of the batch to a group; its row, if it is emitted with its first row and
    * this is it.
    */
  private def updated(group: UnsafeRow, batch: GroupTotals): Option[UnsafeRow] = {
    val stored = groupStore.totals(group)
    val now = stored.fold(GroupTotals.kept(arguments))(load(group, _))
    takeIn(group, now, batch)
    put(group, now)
    next = math.min(next, times.of(group))
    Option.when(shape.emitsFirst && stored.isEmpty)(emit(group, now))
  }

  /** Removes the groups that close in this batch, each when it is read here, and returns their
    * rows, if they were not emitted with the first row. Notes when the next group closes. It must
    * be called after all groups of the batch are updated; `++` evaluates it only then.
    */
  private def closed: Iterator[UnsafeRow] = {
    val due = if (next <= watermark) takeDue() else Nil
    if (next != nextBefore) groupStore.nextClose = next
    due.iterator.flatMap { case (group, totals) =>
      val last = Option.unless(shape.emitsFirst)(emit(group, load(group, totals)))
      for (i <- arguments.indices if arguments(i).values) groupStore.removeValues(group, i)
      remove(group)
      last
    }
  }

  /** The groups that close now, with their stored totals. Reads all groups, and notes when the next
    * of the others closes.
    */
  private def takeDue(): Seq[(UnsafeRow, Array[Byte])] = {
    next = Long.MaxValue
    val due = new ArrayBuffer[(UnsafeRow, Array[Byte])]
    store.read(_.flatMap(groupStore.group).foreach { case (group, totals) =>
      val time = times.of(group)
      if (time <= watermark) due += group.copy() -> totals else next = math.min(next, time)
    })
    due.toSeq
  }

  /** The row of a group; the same object each time. */
  private def emit(group: UnsafeRow, now: GroupTotals): UnsafeRow = {
    row.set(group, now)
    row.row
  }
}
