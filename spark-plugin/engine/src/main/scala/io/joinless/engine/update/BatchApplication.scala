package io.joinless.engine.update

import java.lang.Long.numberOfTrailingZeros

/** Applies the changes of a batch one by one: first the net ones in their order, then the appended
  * rows.
  *
  * Each change is started on `delta`, which completes it before the next one. Its results can be
  * enumerated in between.
  */
final private[update] class BatchApplication(changes: CollectedChanges, order: ApplyOrder, delta: DeltaEnumeration) {

  /** The current step, and its roles (bit set) that are not yet applied. After the steps, the
    * appended rows.
    */
  private[this] var position = -1
  private[this] var rolesLeft = 0L

  /** Returns to before the first step: a batch is arranged, and nothing of it is applied. */
  def begin(): Unit = {
    position = -1
    rolesLeft = 0L
  }

  /** The position of the step whose change was started last. */
  def startedStep: Int = position

  /** Starts the next change; false if there is none left. */
  def startNext(): Boolean = {
    if (rolesLeft == 0L) position += 1
    if (position < order.size) {
      if (rolesLeft == 0L) rolesLeft = order.roles(position)
      val entry = order.entry(position)
      delta.change(numberOfTrailingZeros(rolesLeft), changes.row(entry), changes.before(entry), changes.after(entry))
      rolesLeft &= rolesLeft - 1
      true
    } else {
      val i = position - order.size
      i < changes.appends && { delta.insert(changes.appendedRelation(i), changes.appendedRow(i)); true }
    }
  }

  /** Applies the remaining changes, without results. */
  def drain(): Unit = {
    while (startNext()) {}
    delta.complete()
  }

  /** Ends the batch after all changes were completed: sets the counts of rows that were and remain
    * absent.
    */
  def end(): Unit = order.absences.foreach(changes.setCounts(_))
}
