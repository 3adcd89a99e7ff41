package io.joinless.engine.update

import io.joinless.engine.tuples.TupleKeys
import io.joinless.engine.view.RowStore

/** Frees rows that no relation has any more, and with them their memoized keys. (Rows of a reduced
  * join that are also keys can outlive that; they are freed as keys, by
  * `reduce.SumNode.deferredFree`.)
  */
object DeletedRows {

  /** Frees a deleted row of an append-only input. */
  def free(store: RowStore, input: Int, row: Int): Unit = {
    TupleKeys.forget(store.keysOfRows(input), row)
    store.arena(input).free(row)
  }

  /** Releases a retractable input's row from so many relations; if none has it any more, the row is
    * freed.
    */
  private[update] def release(store: RowStore, input: Int, row: Int, relations: Int): Unit =
    if (store.identity(input).release(row, relations)) TupleKeys.forget(store.keysOfRows(input), row)
}
