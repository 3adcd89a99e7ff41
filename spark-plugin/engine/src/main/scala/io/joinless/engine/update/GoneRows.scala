package io.joinless.engine.update

import io.joinless.engine.tuples.TupleKeys
import io.joinless.engine.view.RowStore

/** Rows that no relation has any more leave the state, and with them the keys that were noted of them. (Rows of a reduced join that are keys,
  * too, can outlive that; they go as keys do, by `reduce.SumNode.bury`.)
  */
object GoneRows {

  /** A row of an append-only input is gone. */
  def free(store: RowStore, input: Int, row: Int): Unit = {
    TupleKeys.forget(store.keysOfRows(input), row)
    store.arena(input).free(row)
  }

  /** A row of a retractable input is in so many relations less; in none any more, it is gone. */
  private[update] def release(store: RowStore, input: Int, row: Int, relations: Int): Unit =
    if (store.identity(input).release(row, relations)) TupleKeys.forget(store.keysOfRows(input), row)
}
