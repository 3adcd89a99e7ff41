package io.joinless.engine.update

import io.joinless.engine.tuples.TupleKeys
import io.joinless.engine.view.RowStore

/** Frees rows that no relation has any more, and forgets their memoized keys. */
object DeletedRows {

  /** Frees a deleted row of an append-only input. */
  def free(store: RowStore, input: Int, row: Int): Unit = {
    TupleKeys.forget(store.keysOfRows(input), row)
    store.arena(input).free(row)
  }

  /** Releases a retractable input's row from so many relations; if none has it any more, the row is
    * freed. A row that is also a key of others remains as their key. Its own keys are forgotten
    * nevertheless: rows that are keys of each other would else never be freed.
    */
  private[update] def release(store: RowStore, input: Int, row: Int, relations: Int): Unit =
    if (store.identity(input).release(row, relations) || store.hasOtherKeys(input) && !store.isThere(input, row))
      TupleKeys.forget(store.keysOfRows(input), row)
}
