package io.joinless.engine.tuples

import java.util.Arrays

/** Ids by the time at which each is due: a hierarchical timing wheel, which is a radix heap of base 16.
  *
  * `now` only grows. An id lies at the highest digit in which its time differs from `now`, in the slot of its own digit there:
  * {{{
  * now = 0x1204      0x1209 → level 0, slot 9      0x12f0 → level 1, slot f      0x4000 → level 3, slot 4
  *
  * now = 0x12f3      levels below 1 and the slots of level 1 before f are due as they are; slot f is dealt out anew, to
  *                   level 0; what lies higher, or behind, stays where it is
  * }}}
  * So an id moves to a lower level each time that it moves. Cost: O(1) for `put`; for each id, over its whole life, at most as many
  * moves as its time has digits that differ from the time at which it was put; nothing is compared or sorted. Memory: 12 bytes
  * for each id, in arrays that grow by half; those of a slot that is emptied are given back.
  *
  * Times are any longs, in any unit. An id is there as often as it was put.
  */
final class TimingWheel {
  import TimingWheel._

  private[this] val levels = new Array[Array[Slot]](Levels)
  private[this] val due = new Slot
  private[this] var count = 0
  private[this] var last = 0L // `now`, in the order of unsigned numbers

  /** Number of ids that are not due yet, or were not handed out. */
  def size: Int = count

  /** The id is due at `time`: with the next `advance` where that has passed. */
  def put(time: Long, id: Int): Unit = {
    count += 1
    place(unsigned(time), id)
  }

  /** The time is now `now`; `f` gets each id that is due at this time or before. It is not to call the wheel. */
  def advance(now: Long)(f: Int => Unit): Unit = {
    val to = unsigned(now)
    if (java.lang.Long.compareUnsigned(to, last) > 0) turn(to)
    var i = 0
    while (i < due.size) { f(due.id(i)); i += 1 }
    count -= due.size
    due.clear()
  }

  /** The least time at which an id is due; the greatest long where there is none. */
  def next: Long =
    if (due.size > 0) unsigned(due.least)
    else
      levels.iterator.filter(_ != null).flatMap(_.iterator).find(s => s != null && s.size > 0).fold(Long.MaxValue)(s =>
        unsigned(s.least)
      )

  /** The least time of an id that is still wanted; the greatest long where there is none. Ids that are not are dropped as far as they are in
    * the way. Cost: that of `next`; where the first id is not wanted, a look at those beside it in its slot.
    */
  def next(isWanted: (Long, Int) => Boolean): Long = {
    val slots = Iterator.single(due) ++ levels.iterator.filter(_ != null).flatMap(_.iterator).filter(_ != null)
    slots.find(firstOf(_, isWanted)).fold(Long.MaxValue)(slot => unsigned(slot.least))
  }

  /** Whether the slot has ids; the first of them is wanted. */
  private def firstOf(slot: Slot, isWanted: (Long, Int) => Boolean): Boolean = {
    if (slot.size > 0 && !isWanted(unsigned(slot.least), slot.id(slot.leastAt))) {
      val (size, times, ids) = (slot.size, slot.times, slot.ids)
      slot.clear()
      var i = 0
      while (i < size) { if (isWanted(unsigned(times(i)), ids(i))) slot.add(times(i), ids(i)); i += 1 }
      count -= size - slot.size
    }
    slot.size > 0
  }

  def bytes: Long = due.bytes + levels.iterator.filter(_ != null).flatMap(_.iterator).filter(_ != null).map(_.bytes).sum

  private def turn(to: Long): Unit = {
    val top = levelOf(to ^ last)
    last = to
    var level = 0
    while (level <= top) {
      val slots = levels(level)
      if (slots != null) {
        val until = if (level < top) Digits else digit(to, top)
        var i = 0
        while (i < until) { take(slots(i)); i += 1 }
        if (level == top) take(slots(until))
      }
      level += 1
    }
  }

  /** Deals the ids of a slot out anew. */
  private def take(slot: Slot): Unit = if (slot != null && slot.size > 0) {
    val (size, times, ids) = (slot.size, slot.times, slot.ids)
    slot.clear()
    var i = 0
    while (i < size) { place(times(i), ids(i)); i += 1 }
  }

  private def place(time: Long, id: Int): Unit =
    if (java.lang.Long.compareUnsigned(time, last) <= 0) due.add(time, id)
    else {
      val level = levelOf(time ^ last)
      if (levels(level) == null) levels(level) = new Array[Slot](Digits)
      val at = digit(time, level)
      if (levels(level)(at) == null) levels(level)(at) = new Slot
      levels(level)(at).add(time, id)
    }
}

private object TimingWheel {
  final val DigitBits = 4
  final val Digits = 1 << DigitBits
  final val Levels = 64 / DigitBits

  /** Keeps the order, as that of unsigned numbers; its own inverse. */
  def unsigned(time: Long): Long = time ^ Long.MinValue

  /** The highest digit that is not 0. */
  def levelOf(difference: Long): Int = (63 - java.lang.Long.numberOfLeadingZeros(difference)) / DigitBits

  def digit(time: Long, level: Int): Int = (time >>> (DigitBits * level)).toInt & (Digits - 1)

  final class Slot {
    var times: Array[Long] = Array.emptyLongArray
    var ids: Array[Int] = Array.emptyIntArray
    var size = 0
    var least = -1L // the greatest unsigned number
    var leastAt = -1

    def id(i: Int): Int = ids(i)

    def add(time: Long, id: Int): Unit = {
      if (size == ids.length) {
        val room = math.max(4, size + (size >> 1))
        times = Arrays.copyOf(times, room)
        ids = Arrays.copyOf(ids, room)
      }
      times(size) = time
      ids(size) = id
      size += 1
      if (leastAt < 0 || java.lang.Long.compareUnsigned(time, least) < 0) {
        least = time
        leastAt = size - 1
      }
    }

    def clear(): Unit = {
      times = Array.emptyLongArray
      ids = Array.emptyIntArray
      size = 0
      least = -1L
      leastAt = -1
    }

    def bytes: Long = 12L * ids.length
  }
}
