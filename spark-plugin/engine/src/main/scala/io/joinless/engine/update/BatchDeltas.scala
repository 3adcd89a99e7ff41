package io.joinless.engine.update

import io.joinless.engine.enumerate.Run

/** The changes of the result that a batch causes: those of its changes, one after the other, each applied as it is reached.
  *
  * ''Passing results'': a combination with a row that the batch inserts and one that it deletes is no result before nor
  * after, but same-key replacements in several relations make it one in between. It is left out where it is met, both times.
  * That costs a look at the replaced rows per result while such replacements are applied, and nothing otherwise.
  */
final private[update] class BatchDeltas(
    changes: CollectedChanges,
    order: ApplyOrder,
    application: BatchApplication,
    delta: DeltaEnumeration
) {
  private[this] val replacements = new Replacements(changes.relations)
  private[this] var opposite = Replacements.None // rows that make a result of the pending change a passing one
  private[this] var unseen = 0L // what changed in passing results since the last one handed out

  /** Relations (bit set) whose row differs from that of the result before. */
  def changed: Long = delta.changed | unseen

  /** The batch is in order, and nothing of it was applied yet. */
  def begin(): Unit = {
    opposite = Replacements.None
    if (java.lang.Long.bitCount(order.refilled) > 1)
      for (at <- 0 until order.size if order.replaces(at) != Replacements.None)
        replacements.mark(order.roles(at), changes.row(order.entry(at)), order.replaces(at))
  }

  def next(): Boolean = {
    unseen = 0L
    while (true) {
      while (delta.next()) {
        if (opposite == Replacements.None || !replacements.meet(opposite, order.refilled, delta.rows)) return true
        unseen |= delta.changed
      }
      if (!application.startNext()) return false
      opposite = oppositeOf(application.place)
    }
    false
  }

  /** As `next`, but takes all results that differ from the next one in the row of one relation only. */
  def next(run: Run): Boolean = next() && { delta.take(run, whole = opposite == Replacements.None); true }

  private def oppositeOf(at: Int): Int =
    if (replacements.isEmpty) Replacements.None
    else
      order.replaces(at) match {
        case Replacements.Comes => Replacements.Goes
        case Replacements.Goes => Replacements.Comes
        case _ => Replacements.None
      }

  def end(): Unit = replacements.clear()
}
