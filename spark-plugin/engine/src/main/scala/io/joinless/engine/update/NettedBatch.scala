package io.joinless.engine.update

import io.joinless.engine.view.RowStore

/** A batch of signed changes to the rows of a block, netted: collected, then prepared, then
  * applied. Subclasses emit its result deltas.
  *
  * A row with count m has the multiplicity max(m, 0). Negative counts (a delete before its insert)
  * exist only if that is allowed; else a batch that deletes an absent row fails as a whole, before
  * anything is applied.
  */
abstract class NettedBatch private[engine] (store: RowStore) {
  final private[engine] val changes = new CollectedChanges(store)
  private[this] var isPrepared = false

  /** Looks up the changes added so far; `before` and `after` then include them. */
  final def collect(): Unit = changes.complete()

  /** The counts of the row in the relation before and after a collected batch of which nothing was
    * applied yet.
    */
  final def before(relation: Int, row: Int): Long = changes.before(relation, row)
  final def after(relation: Int, row: Int): Long = changes.after(relation, row)

  /** Adds a change of the relations `roles` (bit set), all of them roles of `input`: `weight`
    * copies of the row in `words`.
    */
  final def add(input: Int, roles: Long, weight: Long, words: Array[Long], count: Int): Unit = {
    require(!isPrepared, "the results of the batch before are not drained")
    require(roles != 0L, "a change concerns at least one relation")
    changes.add(input, roles, weight, words, count)
  }

  /** Nets the batch.
    *
    * @throws DeleteOfAbsentRow before anything is applied
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

  /** Visits all net changes. Returns the reason why the batch is refused; null if it is not. */
  protected def arrange(): DeleteOfAbsentRow

  /** Starts the application of a prepared batch, of which nothing was applied yet. */
  protected def begin(): Unit

  /** Moves to the next result delta; false if there is none left, and the batch is applied. */
  def next(): Boolean

  /** Applies the rest of the batch without emitting results. */
  def drain(): Unit

  /** Forgets the net changes of a batch that was applied. */
  final protected def finish(): Unit = {
    changes.finish()
    isPrepared = false
  }

  /** Calls `f` with the input and the id of each row of a retractable input that a prepared batch
    * changes, once per row. Nothing may be applied yet.
    */
  final def foreachChangedRow(f: (Int, Int) => Unit): Unit = eachFirst(e => f(changes.input(e), changes.row(e)))

  /** Calls `f` with the first entry of each changed row. */
  private def eachFirst(f: Int => Unit): Unit = {
    var e = 0
    while (e < changes.size) { if (changes.isRowsFirst(e)) f(e); e += 1 }
  }

  /** Records all net changes of the row whose chain begins at this entry. */
  private def noteRow(record: ChangeRecord, first: Int): Unit = {
    var e = first
    while (e >= 0) {
      if (changes.change(e) != 0L) record.changed(changes.roles(e), changes.row(e), changes.change(e))
      e = changes.next(e)
    }
  }

  /** Records the changes of a prepared batch, to roll it back later. `each` is called as in
    * `foreachChangedRow`, after each row's changes.
    */
  final def note(record: ChangeRecord, each: (Int, Int) => Unit = (_, _) => ()): Unit = {
    eachFirst { e =>
      noteRow(record, e)
      each(changes.input(e), changes.row(e))
    }
    for (i <- 0 until changes.appends) record.inserted(changes.appendedRelation(i), changes.appendedRow(i))
  }
}
