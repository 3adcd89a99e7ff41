package io.joinless.engine.sample

import java.util.Arrays

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.ViewTree

/** The kept sample of a tree's results, or of each group of them ([[Groups]]): of each group the
  * `capacity` copies of results with the smallest keys, its [[Reservoir]].
  *
  * Each copy of a result has a key, uniform on (0, 1) and drawn once. A copy is named by its rows
  * and, for each row, which of its copies it has: those with the greatest numbers are deleted
  * first. Slots are stable as long as the copy is kept. What the pending batch removed stays
  * readable until `settle`.
  *
  * @param isGrouped there is a sample for each tuple of the tree's root, a generalized node
  */
final class KeptSample(override val capacity: Int, tree: ViewTree, val isGrouped: Boolean = false)
    extends SampleSlots {
  import KeptSample._

  private[this] val relations = tree.block.relations.size
  private[this] val groupOf = Groups.ofRows(tree, isGrouped)
  private[this] var keys = new Array[Double](16)
  private[this] var rows = new Array[Int](16 * relations)
  private[this] var copies = new Array[Long](16 * relations)
  private[this] var groups = new Array[Int](16)
  private[this] var states = new Array[Byte](16)
  private[this] var slots = 0 // used so far, free ones included
  private[this] val free = new IntStack
  private[this] var count = 0

  /** By group; null if it has no sample. */
  private[this] var reservoirs = new Array[Reservoir](1)
  private[this] var bytesOfReservoirs = 0L

  // of the pending batch; slots that were added and removed again are in both
  private[this] val addedSlots = new IntStack
  private[this] val removedSlots = new IntStack

  /** The number of copies that are kept, of all groups. */
  def size: Int = count

  override def key(slot: Int): Double = keys(slot)
  def row(slot: Int, relation: Int): Int = rows(slot * relations + relation)
  def copy(slot: Int, relation: Int): Long = copies(slot * relations + relation)
  def readRows(slot: Int, into: Array[Int]): Unit = System.arraycopy(rows, slot * relations, into, 0, relations)

  /** The slots that are kept, in ascending order. */
  def foreach(f: Int => Unit): Unit = {
    var slot = 0
    while (slot < slots) {
      if (isKept(slot)) f(slot)
      slot += 1
    }
  }

  /** Whether a slot has a copy that is kept. */
  def isKept(slot: Int): Boolean = slot < slots && (states(slot) == Kept || states(slot) == Added)

  /** The sample of a group; a new one if there is none. */
  private[sample] def reservoir(group: Int): Reservoir = {
    if (group >= reservoirs.length) reservoirs = Arrays.copyOf(reservoirs, math.max(group + 1, 2 * reservoirs.length))
    if (reservoirs(group) == null) {
      reservoirs(group) = new Reservoir(this, group)
      resized(reservoirs(group).bytes)
    }
    reservoirs(group)
  }

  override private[sample] def resized(bytes: Long): Unit = bytesOfReservoirs += bytes

  /** The sample of a group; null if there is none. */
  private[sample] def existing(group: Int): Reservoir = if (group < reservoirs.length) reservoirs(group) else null

  /** Whether there is a place for a copy of an earlier batch with these rows. */
  def hasPlace(rowOf: Array[Int]): Boolean = !reservoir(groupOf(rowOf)).isFull

  /** Adds a copy of an earlier batch, in its slot. Its rows must be in the tree. */
  def restore(slot: Int, key: Double, rowOf: Array[Int], copyOf: Array[Long]): Unit = {
    while (slots <= slot) { free.push(newSlot()) }
    val group = groupOf(rowOf)
    put(slot, group, key, rowOf, copyOf, Kept)
    reservoir(group).push(slot)
  }

  /** Ends `restore`: slots without a copy are free. */
  def restored(): Unit = {
    free.clear()
    var slot = slots - 1
    while (slot >= 0) {
      if (states(slot) == Free) free.push(slot)
      slot -= 1
    }
  }

  override private[sample] def added(group: Int, key: Double, rowOf: Array[Int], copyOf: Array[Long]): Int = {
    val slot = if (free.isEmpty) newSlot() else free.pop()
    put(slot, group, key, rowOf, copyOf, Added)
    addedSlots.push(slot)
    slot
  }

  private def put(slot: Int, group: Int, key: Double, rowOf: Array[Int], copyOf: Array[Long], state: Byte): Unit = {
    keys(slot) = key
    System.arraycopy(rowOf, 0, rows, slot * relations, relations)
    System.arraycopy(copyOf, 0, copies, slot * relations, relations)
    groups(slot) = group
    states(slot) = state
    count += 1
  }

  /** A slot that was never used. */
  private def newSlot(): Int = {
    if (slots == keys.length) {
      keys = Arrays.copyOf(keys, 2 * slots)
      states = Arrays.copyOf(states, 2 * slots)
      groups = Arrays.copyOf(groups, 2 * slots)
      rows = Arrays.copyOf(rows, 2 * slots * relations)
      copies = Arrays.copyOf(copies, 2 * slots * relations)
    }
    slots += 1
    slots - 1
  }

  override private[sample] def discard(slot: Int): Unit = {
    states(slot) = if (states(slot) == Added) Passed else Removed
    removedSlots.push(slot)
    count -= 1
  }

  /** Removes copies, given by their slots. */
  private[sample] def removeAll(gone: Set[Int]): Unit =
    gone.map(groups(_)).foreach { group =>
      val _ = reservoir(group).removeWhere(gone)
    }

  /** The copies that the pending batch has removed, and those that it has added. */
  def foreachRemoved(f: Int => Unit): Unit = removedSlots.foreach(slot => if (states(slot) == Removed) f(slot))
  def foreachAdded(f: Int => Unit): Unit = addedSlots.foreach(slot => if (states(slot) == Added) f(slot))

  /** Ends the pending batch: the slots of removed copies are free, and so are groups without any. */
  def settle(): Unit = {
    addedSlots.foreach(slot => if (states(slot) == Added) states(slot) = Kept)
    removedSlots.foreach { slot =>
      states(slot) = Free
      free.push(slot)
      val reservoir = existing(groups(slot))
      if (reservoir != null && reservoir.size == 0) {
        resized(-reservoir.bytes)
        reservoirs(groups(slot)) = null
      }
    }
    addedSlots.clear()
    removedSlots.clear()
  }

  def bytes: Long =
    9L * keys.length + 4L * (rows.length + groups.length + reservoirs.length) + 8L * copies.length + free.bytes +
      addedSlots.bytes + removedSlots.bytes + bytesOfReservoirs
}

private object KeptSample {
  // the state of a slot; `Passed`: added and removed by the pending batch
  final val Free: Byte = 0
  final val Kept: Byte = 1
  final val Added: Byte = 2
  final val Removed: Byte = 3
  final val Passed: Byte = 4
}
