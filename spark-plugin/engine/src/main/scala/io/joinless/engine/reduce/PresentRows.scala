package io.joinless.engine.reduce

import io.joinless.engine.update.CollectedChanges
import io.joinless.engine.view.RowStore

/** The number of rows of each input that are present in any of its relations, for inputs whose
  * arenas also hold keys of other relations ([[WholeRows]]).
  *
  * After a restore the rows are counted on the first read.
  */
final private class PresentRows(store: RowStore) {
  private[this] val block = store.block
  private[this] var rows = new Array[Long](block.inputs.size)

  /** The number of rows of an input that are present in some relation. */
  def of(input: Int): Long = { countIfUnknown(); rows(input) }

  /** Resets the counts: the state is about to be restored. */
  def forget(): Unit = rows = null

  /** Updates the count of an entry's input: the collected batch is about to be applied. Called once
    * for each entry of the input, also for one without a net change: a row is counted at its first
    * entry, for all its relations. It is present if its multiplicity in any of them is not 0, even
    * if negative.
    *
    * @param entry number of an entry of `changes`
    */
  def change(changes: CollectedChanges, entry: Int): Unit = {
    countIfUnknown()
    val row = changes.row(entry)
    val relations = block.relationsOf(changes.input(entry))
    if (changes.isRowsFirst(entry)) {
      var before, after = 0 // 1 if the row is present in some relation
      var i = 0
      while (i < relations.length) {
        if (changes.before(relations(i), row) != 0L) before = 1
        if (changes.after(relations(i), row) != 0L) after = 1
        i += 1
      }
      rows(changes.input(entry)) += after - before
    }
  }

  /** Counts the rows if a restore has reset the counts. */
  private def countIfUnknown(): Unit = if (rows == null) {
    rows = Array.tabulate(block.inputs.size) { input =>
      (0 until store.arena(input).limit).count(store.isThere(input, _)).toLong
    }
  }
}
