package io.joinless.spark.exec.groups

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.joinless.spark.plans.values.{AsOfRows, GroupFunction}
import io.joinless.spark.spec.GroupShape
import io.joinless.spark.state.asof.{AsOfStore, MovedMatches}
import io.joinless.spark.state.groups.{GroupArgument, GroupStore, GroupTotals, ValueChanges}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.joinless.PrefixStore

/** Groups whose rows are as-of joined ([[AsOfRows]]): in place of the whole result of a group, the
  * rows that a batch removes from it (weight −1) and adds to it (weight 1) are emitted, in arrays.
  * The operator above reads rows out of these arrays, one by one, so it need not know.
  *
  * ''Cost'': see [[MovedMatches]]; not the size of the group.
  */
final private class AsOfGroups(
    shape: GroupShape,
    functions: Seq[GroupFunction],
    arguments: Array[GroupArgument],
    store: PrefixStore,
    rows: Iterator[InternalRow]
) extends GroupsTask(shape, functions, arguments, store, rows) {
  import AsOfGroups._

  private[this] val function = functions.head.function.asInstanceOf[AsOfRows]
  private[this] val joins = new AsOfStore(keys, function, store)
  private[this] val projection = UnsafeProjection.create(columns)

  override protected def openGroups: GroupStore = joins

  override protected def takes(group: UnsafeRow): Boolean = true

  override protected def emittedRows: Iterator[UnsafeRow] = groups.iterator.flatMap { case (group, batch) =>
    change(group, batch)
  }

  /** Applies the changes of the batch to a group; its changed results. */
  private def change(group: UnsafeRow, batch: GroupTotals): Iterable[UnsafeRow] = {
    val stored = joins.totals(group)
    val now = GroupTotals.kept(arguments)
    stored.foreach(now.add)
    val changed = batch.accumulators.head.asInstanceOf[ValueChanges].changes
    val moved = new MovedMatches(function, joins, group, changed)
    takeIn(group, now, batch)
    if (now.rows > 0) put(group, now) else if (stored.isDefined) remove(group)
    results(group, moved)
  }

  /** The changed results of a group, those of equal weight in arrays. */
  private def results(group: UnsafeRow, moved: MovedMatches): Iterable[UnsafeRow] = {
    val byWeight = mutable.LinkedHashMap.empty[Long, ArrayBuffer[InternalRow]]
    moved.results { (left, right, weight) =>
      if (right != null || function.outer)
        byWeight.getOrElseUpdate(weight, new ArrayBuffer[InternalRow]) += function.joined(left, right)
    }
    for ((weight, rows) <- byWeight; array <- rows.grouped(LongestArray))
      yield projection(new JoinedRow(
        group,
        new GenericInternalRow(Array[Any](new GenericArrayData(array.toArray[Any]), weight))
      )).copy()
  }
}

private object AsOfGroups {

  /** The number of rows of an array at most: one change of a right row can change the results of
    * many left rows.
    */
  final private val LongestArray = 1024
}
