package io.joinless.engine.update

/** Applies the changes of a batch, one after the other: first the net ones in their order, then the appended rows.
  *
  * Each is started on `delta`, which completes it before the next one; whoever wants its results enumerates them in between.
  */
final private[update] class BatchApplication(changes: CollectedChanges, order: ApplyOrder, delta: DeltaEnumeration) {

  /** Place of the next change. */
  private[this] var position = 0

  def begin(): Unit = position = 0

  /** Place of the change that was started last. */
  def place: Int = position - 1

  /** Starts the next change; false where there is none. */
  def startNext(): Boolean = {
    val at = position
    position += 1
    if (at < order.size) start(order(at))
    else if (at < order.size + changes.appends)
      delta.insert(changes.appendedRelation(at - order.size), changes.appendedRow(at - order.size))
    else return false
    true
  }

  private def start(entry: Int): Unit = {
    val relation = changes.relation(entry)
    val row = changes.row(entry)
    val before = changes.before(entry)
    val after = changes.after(entry)
    if (before <= 0) delta.insert(relation, row, after)
    else if (after <= 0) delta.delete(relation, row, after)
    else delta.reweigh(relation, row, after)
  }

  /** Applies what is left, without results. */
  def drain(): Unit = {
    while (startNext()) {}
    delta.complete()
  }

  /** All changes were started and completed: sets the counts of rows that were and stay absent. */
  def end(): Unit = ChangeBatch.each(order.absences) { e =>
    val counts = changes.store.multiplicities(changes.relation(e))
    counts(changes.row(e)) = counts(changes.row(e)) + changes.change(e)
  }
}
