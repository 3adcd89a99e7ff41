package io.joinless.engine.sample

import java.util.Arrays

import io.joinless.engine.tuples.IntStack

/** The kept sample: the `capacity` results with the smallest keys (algorithms A60).
  *
  * Each copy of a result has a key, uniform on (0, 1) and drawn once. A copy is named by its rows
  * and, for each row, which of its copies it has: those with the greatest numbers are deleted
  * first. Slots are stable as long as the copy is kept. What the pending batch removed stays
  * readable until `settle`.
  *
  * Invariant: if fewer than `capacity` are kept, these are all results; else the keys of all others
  * are independent and uniform on (`bound`, 1).
  */
final class Reservoir(val capacity: Int, relations: Int) {
  import Reservoir._

  private[this] var keys = new Array[Double](16)
  private[this] var rows = new Array[Int](16 * relations)
  private[this] var copies = new Array[Long](16 * relations)
  private[this] var states = new Array[Byte](16)
  private[this] var slots = 0 // used so far, free ones included
  private[this] val free = new IntStack

  /** The slots that are kept, as a heap: none has a greater key than the one above it. */
  private[this] var heap = new Array[Int](16)
  private[this] var count = 0

  // of the pending batch; slots that were added and removed again are in both
  private[this] val addedSlots = new IntStack
  private[this] val removedSlots = new IntStack

  /** The number of copies that are kept. */
  def size: Int = count
  def isFull: Boolean = count == capacity

  /** The upper bound of the keys that a further copy must be below; 1 if all are kept. */
  def bound: Double = if (isFull) keys(heap(0)) else 1.0

  def key(slot: Int): Double = keys(slot)
  def row(slot: Int, relation: Int): Int = rows(slot * relations + relation)
  def copy(slot: Int, relation: Int): Long = copies(slot * relations + relation)
  def readRows(slot: Int, into: Array[Int]): Unit = System.arraycopy(rows, slot * relations, into, 0, relations)

  /** The slots that are kept, in no order. */
  def foreach(f: Int => Unit): Unit = {
    var i = 0
    while (i < count) { f(heap(i)); i += 1 }
  }

  /** Adds a copy with a key below `bound`. If there are too many then, that with the greatest key
    * is removed.
    */
  def add(key: Double, rowOf: Array[Int], copyOf: Array[Long]): Unit = {
    if (isFull) removeTop()
    put(takeSlot(), key, rowOf, copyOf, Added)
  }

  /** Adds a copy of an earlier batch, in its slot. */
  def restore(slot: Int, key: Double, rowOf: Array[Int], copyOf: Array[Long]): Unit = {
    while (slots <= slot) { free.push(newSlot()) }
    put(slot, key, rowOf, copyOf, Kept)
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

  /** Writes a copy to a slot, and adds the slot to the heap. */
  private def put(slot: Int, key: Double, rowOf: Array[Int], copyOf: Array[Long], state: Byte): Unit = {
    keys(slot) = key
    System.arraycopy(rowOf, 0, rows, slot * relations, relations)
    System.arraycopy(copyOf, 0, copies, slot * relations, relations)
    states(slot) = state
    if (state == Added) addedSlots.push(slot)
    if (count == heap.length) heap = Arrays.copyOf(heap, 2 * count)
    heap(count) = slot
    count += 1
    up(count - 1)
  }

  private def takeSlot(): Int = if (free.isEmpty) newSlot() else free.pop()

  /** A slot that was never used. */
  private def newSlot(): Int = {
    if (slots == keys.length) {
      keys = Arrays.copyOf(keys, 2 * slots)
      states = Arrays.copyOf(states, 2 * slots)
      rows = Arrays.copyOf(rows, 2 * slots * relations)
      copies = Arrays.copyOf(copies, 2 * slots * relations)
    }
    slots += 1
    slots - 1
  }

  /** Removes the copy with the greatest key. */
  private def removeTop(): Unit = {
    val slot = heap(0)
    count -= 1
    heap(0) = heap(count)
    if (count > 0) down(0)
    discard(slot)
  }

  /** Removes the copies for which `isGone` holds; returns their number. */
  def removeWhere(isGone: Int => Boolean): Int = {
    var left = 0
    var i = 0
    while (i < count) {
      val slot = heap(i)
      if (isGone(slot)) discard(slot)
      else { heap(left) = slot; left += 1 }
      i += 1
    }
    val removed = count - left
    count = left
    if (removed > 0) {
      i = count / 2 - 1
      while (i >= 0) { down(i); i -= 1 }
    }
    removed
  }

  private def discard(slot: Int): Unit = {
    states(slot) = if (states(slot) == Added) Passed else Removed
    removedSlots.push(slot)
  }

  /** The copies that the pending batch has removed, and those that it has added. */
  def foreachRemoved(f: Int => Unit): Unit = removedSlots.foreach(slot => if (states(slot) == Removed) f(slot))
  def foreachAdded(f: Int => Unit): Unit = addedSlots.foreach(slot => if (states(slot) == Added) f(slot))

  /** Ends the pending batch: the slots of removed copies are free. */
  def settle(): Unit = {
    addedSlots.foreach(slot => if (states(slot) == Added) states(slot) = Kept)
    removedSlots.foreach { slot =>
      states(slot) = Free
      free.push(slot)
    }
    addedSlots.clear()
    removedSlots.clear()
  }

  /** Restores the heap where a key may be greater than those above it, from an index towards the
    * top.
    */
  private def up(from: Int): Unit = {
    val slot = heap(from)
    var i = from
    while (i > 0 && keys(heap((i - 1) >>> 1)) < keys(slot)) {
      heap(i) = heap((i - 1) >>> 1)
      i = (i - 1) >>> 1
    }
    heap(i) = slot
  }

  /** Restores the heap where a key may be less than those below it, from an index downwards. */
  private def down(from: Int): Unit = {
    val slot = heap(from)
    var i = from
    var child = greaterChild(i)
    while (child < count && keys(heap(child)) > keys(slot)) {
      heap(i) = heap(child)
      i = child
      child = greaterChild(i)
    }
    heap(i) = slot
  }

  /** The index of the greater key of the two below; not below `count` if there is none. */
  private def greaterChild(i: Int): Int = {
    val left = 2 * i + 1
    if (left + 1 < count && keys(heap(left + 1)) > keys(heap(left))) left + 1 else left
  }

  def bytes: Long =
    9L * keys.length + 4L * rows.length + 8L * copies.length + 4L * heap.length + free.bytes + addedSlots
      .bytes + removedSlots.bytes
}

private object Reservoir {
  // the state of a slot; `Passed`: added and removed by the pending batch
  final val Free: Byte = 0
  final val Kept: Byte = 1
  final val Added: Byte = 2
  final val Removed: Byte = 3
  final val Passed: Byte = 4
}
