package io.joinless.engine.update

import java.lang.Long.{lowestOneBit, numberOfTrailingZeros}

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.{RelationViews, ViewTree}

/** The order in which the net changes of a batch are applied. No view changes here.
  *
  *   1. deletions, except those under refilled keys
  *   1. insertions under refilled keys
  *   1. deletions under refilled keys
  *   1. changes of multiplicity
  *   1. all other insertions
  *
  * So no combination of rows is inserted and deleted again, except the transient results that
  * [[BatchDeltas]] suppresses. The second and third step are ''same-key replacements'' (algorithms
  * A31): V_p stays unchanged, and the support of the key's parents is not decremented and
  * incremented.
  */
final private[update] class ApplyOrder(tree: ViewTree, changes: CollectedChanges) {
  import ApplyOrder._

  // entries of the net batch, by kind of change
  private[this] val deletions = new IntStack
  private[this] val reweighings = new IntStack
  private[this] val insertions = new IntStack

  // the same with the relations in which
  //   refilling      an insertion is under a refilled key
  //   fresh          an insertion is not
  //   emptying       a deletion removes an alive tuple of a key
  //   replacedRows   a deletion is under a refilled key
  //   order          an entry is changed by one step; all steps, in their order
  private[this] val refilling = new Steps
  private[this] val fresh = new Steps
  private[this] val emptying = new Steps
  private[this] val replacedRows = new Steps
  private[this] val order = new Steps
  private[this] var increases = false
  private[this] var decreases = false
  private[this] var reweighsUp = false
  private[this] var reweighsDown = false

  // same-key replacements: their relations, and the ranges of their insertions and deletions in
  // `order` (ends are exclusive)
  private[this] var refilledIn = 0L
  private[this] var refillsFrom = 0
  private[this] var refillsUntil = 0
  private[this] var refilledUntil = 0

  /** Entries of rows that were and remain absent: only their counts change. */
  val absences = new IntStack

  def size: Int = order.size
  def entry(at: Int): Int = order.entry(at)

  /** The relations (bit set) in which the step changes the entry's row. */
  def roles(at: Int): Long = order.roles(at)

  /** The relations (bit set) with same-key replacements. */
  def refilled: Long = refilledIn

  /** `Inserted` or `Deleted` if the step `at` is half of a same-key replacement, else `None`. */
  def replaces(at: Int): Int =
    if (at < refillsFrom || at >= refilledUntil) Replacements.None
    else if (at < refillsUntil) Replacements.Inserted
    else Replacements.Deleted

  /** Whether the result may both gain and lose rows in this batch. */
  def bothSigns: Boolean = (increases || changes.appends > 0) && decreases

  /** Whether the same combination of rows may be emitted several times, and with both signs. */
  def repeats: Boolean = reweighsDown && (reweighsUp || changes.appends > 0 || refilled != 0L)

  /** Classifies the net changes and puts them in order. Called once per batch, after `clear`.
    *
    * @param negatives absent rows may be deleted
    * @return the reason why the batch is refused; null if it is not
    */
  def arrange(negatives: Boolean): DeleteOfAbsentRow = {
    var e = 0
    while (e < changes.size) {
      val before = changes.before(e)
      val change = changes.change(e)
      val after = Weight.add(before, change)
      val refusal = changes.refusal(e, before, after, negatives)
      if (refusal != null) return refusal
      if (change != 0) classify(e, before, after)
      e += 1
    }
    putInOrder()
    null
  }

  /** Files an entry under its kind of change. A row with a count of 0 or less is absent: it has the
    * multiplicity 0.
    */
  private def classify(entry: Int, before: Long, after: Long): Unit = {
    if (before <= 0 && after <= 0) absences.push(entry)
    else if (before <= 0) insertions.push(entry)
    else if (after <= 0) deletions.push(entry)
    else {
      reweighings.push(entry)
      if (after > before) reweighsUp = true else reweighsDown = true
    }
    if (after > math.max(before, 0)) increases = true
    else if (before > math.max(after, 0)) decreases = true
  }

  /** Fills `order`. Which keys are refilled is known only after three passes over the entries:
    * deletions are counted at their keys, then insertions mark keys that are emptied, then
    * deletions read the marks. At the end the keys are reset.
    */
  private def putInOrder(): Unit = {
    val mayRefill = deletions.size > 0 && insertions.size > 0
    if (mayRefill) deletions.foreach(e => emptying.push(e, rolesWhere(e, changes.roles(e), emptiesKey)))
    insertions.foreach { e =>
      val refill = if (mayRefill) rolesWhere(e, changes.roles(e), refills) else 0L
      refilledIn |= refill
      refilling.push(e, refill)
      fresh.push(e, changes.roles(e) & ~refill)
    }
    deletions.foreach { e =>
      val replaced = if (refilled == 0L) 0L else rolesWhere(e, changes.roles(e), isReplaced)
      order.push(e, changes.roles(e) & ~replaced)
      replacedRows.push(e, replaced)
    }
    refillsFrom = order.size
    order.pushAll(refilling)
    refillsUntil = order.size
    order.pushAll(replacedRows)
    refilledUntil = order.size
    reweighings.foreach(e => order.push(e, changes.roles(e)))
    order.pushAll(fresh)
    var i = 0
    while (i < emptying.size) { val _ = rolesWhere(emptying.entry(i), emptying.roles(i), isForgotten); i += 1 }
  }

  /** The subset of an entry's relations (bit set) in which `holds` is true of its row. */
  private def rolesWhere(entry: Int, roles: Long, holds: Question): Long = {
    val row = changes.row(entry)
    var rolesLeft = roles
    var found = 0L
    while (rolesLeft != 0L) {
      if (holds(tree.relation(numberOfTrailingZeros(rolesLeft)), row)) found |= lowestOneBit(rolesLeft)
      rolesLeft &= rolesLeft - 1
    }
    found
  }

  /** Forgets the batch. */
  def clear(): Unit = {
    deletions.clear(); reweighings.clear(); insertions.clear(); absences.clear()
    refilling.clear(); fresh.clear(); emptying.clear(); replacedRows.clear(); order.clear()
    refilledIn = 0L
    refillsFrom = 0
    refillsUntil = 0
    refilledUntil = 0
    increases = false
    decreases = false
    reweighsUp = false
    reweighsDown = false
  }
}

private object ApplyOrder {

  /** A predicate on a row in a relation, which may also update the state of the row's key. */
  trait Question {
    def apply(node: RelationViews, row: Int): Boolean
  }

  /** The deletion removes an alive tuple of a key of V_p; counts it at the key. */
  val emptiesKey: Question = (node, row) =>
    canEmpty(node, row) && {
      RefilledKeys.noteDeleted(node, node.key(row))
      true
    }

  /** The insertion is under a key whose alive tuples are all deleted by the batch; marks the key.
    */
  val refills: Question =
    (node, row) => !node.isRoot && RefilledKeys.noteInserted(node, node.toParent.findOrAdd(row, row))

  /** The deletion removes an alive tuple of a refilled key: all its alive tuples are deleted, and
    * others inserted.
    */
  val isReplaced: Question = (node, row) => canEmpty(node, row) && RefilledKeys.contains(node, node.key(row))

  /** Resets the key of a deletion for which `emptiesKey` held. Always true. */
  val isForgotten: Question = (node, row) => {
    RefilledKeys.forget(node, node.key(row))
    true
  }

  /** Whether the deletion of a row takes an alive tuple from a key of V_p. At the root there are no
    * keys.
    */
  private def canEmpty(node: RelationViews, row: Int): Boolean = !node.isRoot && node.isAlive(row)
}
