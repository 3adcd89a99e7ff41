package io.joinless.bench

import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena}

/** Which values a group has, and how many rows have each: the consumer that counts different values. Keys are the columns of the group, and
  * behind them those of the value.
  */
final class Values(columns: Int) {
  private[this] val keys = new TupleArena(columns)
  private[this] val index = new KeyIndex(keys, columns, counted = true)
  private[this] val rows = new PagedLongs

  /** So many rows more have the value; 1 where it is new to the group, −1 where it is gone from there, else 0. */
  def add(key: Array[Long], change: Long): Long = {
    val id = index.findOrAdd(key, columns)
    val before = rows(id)
    rows(id) = before + change
    if (before == 0L) { index.retain(id); 1L }
    else if (before + change == 0L) { val _ = index.release(id); -1L }
    else 0L
  }
}
