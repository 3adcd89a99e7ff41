package io.joinless.bench

import io.joinless.engine.tuples.{KeyIndex, TupleArena}

/** The values of each group with their multiplicities: the consumer for COUNT(DISTINCT). Keys are
  * the columns of the group, and behind them those of the value; each row is a reference to its
  * key.
  */
final class Values(columns: Int) {
  private[this] val index = new KeyIndex(new TupleArena(columns), columns, counted = true)

  /** Adds `change` rows with the value. Returns 1 if it is new to the group, −1 if it was removed
    * from the group, else 0.
    */
  def add(key: Array[Long], change: Long): Long = {
    val known = index.size
    val id = index.findOrAdd(key, columns)
    val isNew = index.size > known
    var isRemoved = false
    var left = change
    while (left > 0L) { index.retain(id); left -= 1L }
    while (left < 0L) { isRemoved = index.release(id); left += 1L }
    if (isNew) 1L else if (isRemoved) -1L else 0L
  }
}
