package io.joinless.engine.update

import io.joinless.engine.view.RowStore

/** A batch of signed changes to the rows of a block, netted: collected, then prepared, then applied. What it does to the result is told
  * by those who extend it.
  *
  * A row with count m is there max(m, 0) times. Counts below zero (''owed'' rows) exist only where that is allowed; else a batch that
  * deletes an absent row fails as a whole, before anything is applied.
  */
abstract class NettedBatch private[engine] (store: RowStore) {
  final private[engine] val changes = new CollectedChanges(store)
  private[this] var isPrepared = false

  /** Looks up what was added so far; `before` and `after` then know it. */
  final def collect(): Unit = changes.complete()

  /** Counts of the row in the relation before and after a collected batch of which nothing was applied yet. */
  final def before(relation: Int, row: Int): Long = changes.before(relation, row)
  final def after(relation: Int, row: Int): Long = changes.after(relation, row)

  /** A change of the relations `roles` (bit set), all of them roles of `input`: `weight` copies of the row in `words`. */
  final def add(input: Int, roles: Long, weight: Long, words: Array[Long], count: Int): Unit = {
    require(!isPrepared, "the results of the batch before are not drained")
    require(roles != 0L, "a change concerns at least one relation")
    changes.add(input, roles, weight, words, count)
  }

  /** Nets the batch.
    *
    * @throws DeleteOfAbsentRow nothing was applied then
    */
  final def prepare(): Unit = if (!isPrepared) {
    changes.complete()
    val refusal = arrange()
    if (refusal != null) {
      changes.abandon()
      throw refusal
    }
    isPrepared = true
    begin()
  }

  /** Looks at all net changes; why the batch is refused, null where it is not. */
  protected def arrange(): DeleteOfAbsentRow

  /** The batch is prepared, and nothing of it was applied yet. */
  protected def begin(): Unit

  /** The next change of the result; false where there is none left, and the batch is applied. */
  def next(): Boolean

  /** Applies what is left of the batch without handing out results. */
  def drain(): Unit

  /** The batch is applied. */
  final protected def settle(): Unit = {
    changes.settle()
    isPrepared = false
  }

  /** Calls `f` with the input and the id of each row of a retractable input that a prepared batch changes, once. Nothing may be
    * applied yet.
    */
  final def foreachChangedRow(f: (Int, Int) => Unit): Unit = eachFirst(e => f(changes.input(e), changes.row(e)))

  /** The head of the chain of each row that changes. */
  private def eachFirst(f: Int => Unit): Unit = {
    var e = 0
    while (e < changes.size) { if (changes.isRowsFirst(e)) f(e); e += 1 }
  }

  /** Notes all net changes of the row whose chain begins here. */
  private def noteRow(reversal: Reversal, first: Int): Unit = {
    var e = first
    while (e >= 0) {
      if (changes.change(e) != 0L) reversal.changed(changes.roles(e), changes.row(e), changes.change(e))
      e = changes.next(e)
    }
  }

  /** Notes what a prepared batch will do, to take it back afterwards; `each` as in `foreachChangedRow`, each time behind that row's
    * changes.
    */
  final def note(reversal: Reversal, each: (Int, Int) => Unit = (_, _) => ()): Unit = {
    eachFirst { e =>
      noteRow(reversal, e)
      each(changes.input(e), changes.row(e))
    }
    for (i <- 0 until changes.appends) reversal.came(changes.appendedRelation(i), changes.appendedRow(i))
  }
}
