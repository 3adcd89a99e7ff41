package io.joinless.engine.update

import io.joinless.engine.enumerate.Run

/** The result deltas of a batch: those of its changes, one after the other. Each change is applied
  * when it is reached.
  *
  * ''Transient results'': a combination of a row that the batch inserts and a row that it deletes
  * is a result neither before nor after the batch. Same-key replacements in several relations can
  * make it a result in between. It is suppressed both times. That costs a check of the replaced
  * rows per result while such replacements are applied, and nothing otherwise.
  */
final private[update] class BatchDeltas(
    changes: CollectedChanges,
    order: ApplyOrder,
    application: BatchApplication,
    delta: DeltaEnumeration
) {
  private[this] val replacements = new Replacements(changes.relations)
  // rows that make a result of the pending change transient
  private[this] var opposite = Replacements.None
  // changed relations of the transient results since the last emitted one
  private[this] var unseen = 0L

  /** The relations (bit set) whose row differs from that of the previous result. */
  def changed: Long = delta.changed | unseen

  /** Starts a batch that was arranged and of which nothing was applied yet. */
  def begin(): Unit = {
    opposite = Replacements.None
    if (java.lang.Long.bitCount(order.refilled) > 1)
      for (at <- 0 until order.size if order.replaces(at) != Replacements.None)
        replacements.mark(order.roles(at), changes.row(order.entry(at)), order.replaces(at))
  }

  /** Moves to the next result that is not transient, and applies the changes before it; false after
    * the last one, when all are applied.
    */
  def next(): Boolean = {
    unseen = 0L
    while (true) {
      while (delta.next()) {
        if (opposite == Replacements.None || !replacements.meet(opposite, order.refilled, delta.rows)) return true
        unseen |= delta.changed
      }
      if (!application.startNext()) return false
      opposite = oppositeOf(application.startedStep)
    }
    false
  }

  /** As `next`, but takes all results that differ from the next one only in the row of one
    * relation.
    */
  def next(run: Run): Boolean = next() && { delta.take(run, whole = opposite == Replacements.None); true }

  /** The mark of rows that make a result of step `at` transient: if it inserts, those that are
    * deleted, and the reverse.
    */
  private def oppositeOf(at: Int): Int =
    if (replacements.isEmpty) Replacements.None
    else
      order.replaces(at) match {
        case Replacements.Inserted => Replacements.Deleted
        case Replacements.Deleted => Replacements.Inserted
        case _ => Replacements.None
      }

  /** Forgets the batch. */
  def end(): Unit = replacements.clear()
}
