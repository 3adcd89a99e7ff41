package io.joinless.bench

import io.joinless.engine.tuples.{KeyIndex, TupleArena}

/** Which values a group has, and how many rows have each: the consumer that counts different values. Keys are the columns of the group, and
  * behind them those of the value; each row is a reference to its key.
  */
final class Values(columns: Int) {
  private[this] val index = new KeyIndex(new TupleArena(columns), columns, counted = true)

  /** So many rows more have the value; 1 where it is new to the group, −1 where it is gone from there, else 0. */
  def add(key: Array[Long], change: Long): Long = {
    val known = index.size
    val id = index.findOrAdd(key, columns)
    val isNew = index.size > known
    var isGone = false
    var left = change
    while (left > 0L) { index.retain(id); left -= 1L }
    while (left < 0L) { isGone = index.release(id); left += 1L }
    if (isNew) 1L else if (isGone) -1L else 0L
  }
}
