package io.joinless.engine.update

import java.lang.Long.{lowestOneBit, numberOfTrailingZeros}

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.{RelationNode, ViewTree}

/** In which order the net changes of a batch are applied; no view changes here.
  *
  *   1. deletions, but those under keys that are refilled
  *   1. insertions under keys that are refilled
  *   1. deletions under keys that are refilled
  *   1. changes of multiplicity
  *   1. all other insertions
  *
  * So no combination of rows comes and goes, but for what [[BatchDeltas]] leaves out. The second and third are ''same-key
  * replacements'' (algorithms A31): V_p stays as it is, and the parents of such a key are not counted down and up.
  */
final private[update] class ApplyOrder(tree: ViewTree, changes: CollectedChanges) {
  import ApplyOrder._
  import ChangeBatch.each

  // entries of the net, by what they do
  private[this] val deletions = new IntStack
  private[this] val reweighings = new IntStack
  private[this] val insertions = new IntStack

  // the same by roles: insertions come under keys that are refilled, or are fresh; deletions that are told as going take an alive tuple from a
  // key, and some of these are replaced; `order` is that of all
  private[this] val coming = new Steps
  private[this] val fresh = new Steps
  private[this] val going = new Steps
  private[this] val replacedRows = new Steps
  private[this] val order = new Steps
  private[this] var increases = false
  private[this] var decreases = false
  private[this] var reweighsUp = false
  private[this] var reweighsDown = false

  // same-key replacements: their relations, and where in `order` their insertions and deletions stand (ends are exclusive)
  private[this] var refilledIn = 0L
  private[this] var refillsFrom = 0
  private[this] var refillsUntil = 0
  private[this] var refilledUntil = 0

  /** Entries of rows that were and stay absent: only their counts change. */
  val absences = new IntStack

  def size: Int = order.size
  def entry(at: Int): Int = order.entry(at)

  /** The relations (bit set) in which the step changes the entry's row. */
  def roles(at: Int): Long = order.roles(at)

  /** Relations (bit set) with same-key replacements. */
  def refilled: Long = refilledIn

  /** `Comes` or `Goes` where the change at this place is half of a same-key replacement, else `None`. */
  def replaces(at: Int): Int =
    if (at < refillsFrom || at >= refilledUntil) Replacements.None
    else if (at < refillsUntil) Replacements.Comes
    else Replacements.Goes

  /** The result may both gain and lose rows in this batch. */
  def bothSigns: Boolean = (increases || changes.appends > 0) && decreases

  /** The same combination of rows may come several times, and with both signs. */
  def repeats: Boolean = reweighsDown && (reweighsUp || changes.appends > 0 || refilled != 0L)

  /** Classifies the net changes by what they do, and puts them in order. Once per batch, after `clear`.
    *
    * @param owe absent rows may be deleted
    * @return why the batch is refused; null where it is not
    */
  def arrange(owe: Boolean): DeleteOfAbsentRow = {
    var e = 0
    while (e < changes.size) {
      val before = changes.before(e)
      val change = changes.change(e)
      val after = Weight.add(before, change)
      val refusal = changes.refusal(e, before, after, owe)
      if (refusal != null) return refusal
      if (change != 0) classify(e, before, after)
      e += 1
    }
    putInOrder()
    null
  }

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

  private def putInOrder(): Unit = {
    val mayRefill = deletions.size > 0 && insertions.size > 0
    if (mayRefill) each(deletions)(e => going.push(e, those(e, changes.roles(e), goes)))
    each(insertions) { e =>
      val refill = if (mayRefill) those(e, changes.roles(e), refills) else 0L
      refilledIn |= refill
      coming.push(e, refill)
      fresh.push(e, changes.roles(e) & ~refill)
    }
    each(deletions) { e =>
      val replaced = if (refilled == 0L) 0L else those(e, changes.roles(e), isReplaced)
      order.push(e, changes.roles(e) & ~replaced)
      replacedRows.push(e, replaced)
    }
    refillsFrom = order.size
    order.pushAll(coming)
    refillsUntil = order.size
    order.pushAll(replacedRows)
    refilledUntil = order.size
    each(reweighings)(e => order.push(e, changes.roles(e)))
    order.pushAll(fresh)
    var i = 0
    while (i < going.size) { val _ = those(going.entry(i), going.roles(i), isForgotten); i += 1 }
  }

  /** Those of an entry's relations (bit set) in which something holds of its row. */
  private def those(entry: Int, roles: Long, holds: Question): Long = {
    val row = changes.row(entry)
    var left = roles
    var found = 0L
    while (left != 0L) {
      if (holds(tree.relation(numberOfTrailingZeros(left)), row)) found |= lowestOneBit(left)
      left &= left - 1
    }
    found
  }

  def clear(): Unit = {
    deletions.clear(); reweighings.clear(); insertions.clear(); absences.clear()
    coming.clear(); fresh.clear(); going.clear(); replacedRows.clear(); order.clear()
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

  /** Something that a batch asks of a row in a relation, and tells its key there. */
  trait Question {
    def apply(node: RelationNode, row: Int): Boolean
  }

  /** The deletion takes an alive tuple from a key of V_p: tells the key. */
  val goes: Question = (node, row) =>
    canEmpty(node, row) && {
      RefilledKeys.goes(node, node.key(row))
      true
    }

  /** The row comes under a key whose alive tuples the batch deletes, all of them: tells the key. */
  val refills: Question = (node, row) => !node.isRoot && RefilledKeys.comes(node, node.toParent.findOrAdd(row, row))

  /** The deletion takes an alive tuple from a key whose alive tuples all go while others come. */
  val isReplaced: Question = (node, row) => canEmpty(node, row) && RefilledKeys.contains(node, node.key(row))

  /** Of one that `goes`: forgets what was told of the key. */
  val isForgotten: Question = (node, row) => {
    RefilledKeys.forget(node, node.key(row))
    true
  }

  private def canEmpty(node: RelationNode, row: Int): Boolean = !node.isRoot && node.isAlive(row)
}
