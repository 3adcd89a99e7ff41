package io.joinless.spark.state.asof

import scala.collection.mutable

import io.joinless.spark.plans.values.AsOfRows
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The changes of one group of an as-of join by a batch: which left rows have another match.
  * {{{
  * right rows at        10:01        10:04           10:09
  * inserted                   10:03
  * left rows at                   ▲ 10:03:30  ▲ 10:05
  *                                │           └ stays with 10:04
  *                                └ from 10:01 to 10:03: [10:03, the next right time)
  * }}}
  * These are the left rows from a right time whose first row the batch changes, to the next right
  * time before the batch (algorithms A77).
  *
  * ''Cost'': per right time in T a search of its neighbours, and of each left time that it covers;
  * per changed left time a search. What is stored besides is not read.
  *
  * Made before the batch is applied; `results` is read afterwards.
  *
  * @param changed the rows that the batch changes, with their weights
  */
final class MovedMatches(function: AsOfRows, store: AsOfStore, group: UnsafeRow, changed: Iterable[(UnsafeRow, Long)]) {
  import StoredAsOf._

  private[this] val order = function.order.ordering
  private[this] val (leftTimes, rightTimes) = (store.rows.times(group, Left), store.rows.times(group, Right))
  private[this] val (ofRight, ofLeft) = changed.partition(row => function.isRight(row._1))
  private[this] val untimed = ofLeft.filter(row => function.time(row._1).isEmpty)
  private[this] val changedLeft = ofLeft.groupBy(row => function.time(row._1)).collect { case (Some(time), rows) =>
    time -> rows
  }

  /** The match before the batch of each left time whose rows or match may change; null for none. */
  private[this] val before = mutable.SortedMap.empty[Long, UnsafeRow]

  for ((Some(time), rows) <- ofRight.groupBy(row => function.time(row._1)) if firstChanges(time, rows)) {
    val end = rightTimes.higher(time)
    lazy val matched = last(time)
    var next = leftTimes.ceiling(time)
    while (next.exists(t => end.forall(t < _))) {
      before.getOrElseUpdate(next.get, matched)
      next = leftTimes.higher(next.get)
    }
  }
  for (time <- changedLeft.keys if !before.contains(time)) before(time) = last(time)

  /** Whether the first of the right rows of a time is another one after these changes. */
  private def firstChanges(time: Long, rows: Iterable[(UnsafeRow, Long)]): Boolean = {
    val weights = rows.toMap
    val (first, remaining) = store.rows.at(group, Right, time) { stored =>
      stored.foldLeft((Option.empty[UnsafeRow], Option.empty[UnsafeRow])) { case ((all, left), (row, number)) =>
        (least(all, row), if (number + weights.getOrElse(row, 0L) > 0) least(left, row) else left)
      }
    }
    val after = rows.foldLeft(remaining) { case (least, (row, weight)) =>
      if (weight > 0) this.least(least, row) else least
    }
    first != after
  }

  /** The first of two rows; `row` is copied. */
  private def least(known: Option[UnsafeRow], row: UnsafeRow): Option[UnsafeRow] =
    if (known.exists(order.compare(_, row) <= 0)) known else Some(row.copy())

  /** The right row that is the match of a left time, as the store is now; null if there is none. */
  private def last(time: Long): UnsafeRow = rightTimes.floor(time).map(first).orNull

  private def first(time: Long): UnsafeRow = store.rows.at(group, Right, time) { rows =>
    rows.foldLeft(Option.empty[UnsafeRow]) { case (known, (row, _)) => least(known, row) }.orNull
  }

  /** Calls `emit` with each row of the result that the batch changes: the left row, its match or
    * null, and the change of their number. After the batch was applied to the store.
    */
  def results(emit: (UnsafeRow, UnsafeRow, Long) => Unit): Unit = {
    val firsts = mutable.Map.empty[Long, UnsafeRow]
    for ((time, was) <- before) {
      val is = rightTimes.floor(time).fold[UnsafeRow](null)(t => firsts.getOrElseUpdate(t, first(t)))
      val rows = changedLeft.getOrElse(time, Nil)
      if (was == is) rows.foreach { case (row, weight) => emit(row, is, weight) }
      else {
        val weights = mutable.Map.from(rows)
        store.rows.at(group, Left, time)(_.foreach { case (row, number) =>
          val old = number - weights.remove(row).getOrElse(0L)
          if (old != 0L) emit(row, was, -old)
          emit(row, is, number)
        })
        for ((row, weight) <- weights) emit(row, was, weight) // all copies were deleted
      }
    }
    for ((row, weight) <- untimed) emit(row, null, weight)
  }
}
