package io.joinless.engine.sample

import java.util.Arrays

/** The slots of the copies that are kept, of all groups. */
private[sample] trait SampleSlots {

  /** The most copies of a group. */
  def capacity: Int

  def key(slot: Int): Double

  /** Writes a copy that enters to a free slot. */
  private[sample] def added(group: Int, key: Double, rowOf: Array[Int], copyOf: Array[Long]): Int

  /** Notes that a copy is in no reservoir any more. */
  private[sample] def discard(slot: Int): Unit

  /** Notes that a reservoir takes so many more bytes. */
  private[sample] def resized(bytes: Long): Unit
}

/** The sample of one group: its `capacity` results with the smallest keys (algorithms A60), as
  * slots that all groups share.
  *
  * Invariant: if fewer than `capacity` are kept, these are all results of the group; else the keys
  * of all others are independent and uniform on (`bound`, 1).
  */
final class Reservoir private[sample] (kept: SampleSlots, group: Int) {

  /** The slots that are kept, as a heap: none has a greater key than the one above it. */
  private[this] var heap = new Array[Int](math.min(kept.capacity, Reservoir.Few))
  private[this] var count = 0

  /** The number of copies that are kept. */
  def size: Int = count
  def isFull: Boolean = count == kept.capacity

  /** The upper bound of the keys that a further copy must be below; 1 if all are kept. */
  def bound: Double = if (isFull) greatest else 1.0

  /** The greatest key of those that are kept, of which there is one. */
  private[sample] def greatest: Double = kept.key(heap(0))

  /** The slots that are kept, in no order. */
  def foreach(f: Int => Unit): Unit = {
    var i = 0
    while (i < count) { f(heap(i)); i += 1 }
  }

  /** Adds a copy with a key below `bound`. If there are too many then, that with the greatest key
    * is removed.
    */
  def add(key: Double, rowOf: Array[Int], copyOf: Array[Long]): Unit = {
    if (isFull) removeGreatest()
    push(kept.added(group, key, rowOf, copyOf))
  }

  /** Adds a slot that is not in the heap. */
  private[sample] def push(slot: Int): Unit = {
    if (count == heap.length) {
      heap = Arrays.copyOf(heap, math.min(kept.capacity.toLong, 2L * count).toInt)
      kept.resized(4L * (heap.length - count))
    }
    heap(count) = slot
    count += 1
    up(count - 1)
  }

  /** Removes the copy with the greatest key. */
  private[sample] def removeGreatest(): Unit = {
    val slot = heap(0)
    count -= 1
    heap(0) = heap(count)
    if (count > 0) down(0)
    kept.discard(slot)
  }

  /** Removes the copies for which `isGone` holds; returns their number. */
  def removeWhere(isGone: Int => Boolean): Int = {
    var left = 0
    var i = 0
    while (i < count) {
      val slot = heap(i)
      if (isGone(slot)) kept.discard(slot)
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

  /** Restores the heap where a key may be greater than those above it, from an index towards the
    * top.
    */
  private def up(from: Int): Unit = {
    val slot = heap(from)
    var i = from
    while (i > 0 && kept.key(heap((i - 1) >>> 1)) < kept.key(slot)) {
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
    while (child < count && kept.key(heap(child)) > kept.key(slot)) {
      heap(i) = heap(child)
      i = child
      child = greaterChild(i)
    }
    heap(i) = slot
  }

  /** The index of the greater key of the two below; not below `count` if there is none. */
  private def greaterChild(i: Int): Int = {
    val left = 2 * i + 1
    if (left + 1 < count && kept.key(heap(left + 1)) > kept.key(heap(left))) left + 1 else left
  }

  def bytes: Long = 4L * heap.length + Reservoir.ObjectBytes
}

private object Reservoir {

  /** The places of a new heap. */
  final val Few = 4

  /** The heap object, and the header of its array. */
  final val ObjectBytes = 48L
}
