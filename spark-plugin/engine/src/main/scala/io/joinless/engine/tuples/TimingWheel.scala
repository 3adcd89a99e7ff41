package io.joinless.engine.tuples

import java.util.Arrays

/** Ids by due time: a hierarchical timing wheel, which is a radix heap of base 16.
  *
  * `now` only grows. An id lies at the level of the highest digit in which its time differs from
  * `now`, in the slot of its own digit there:
  * {{{
  * now = 0x1204      0x1209 → level 0, slot 9
  *                   0x12f0 → level 1, slot f
  *                   0x4000 → level 3, slot 4
  *
  * now = 0x12f3      levels below 1 and the slots of level 1 before f are due;
  *                   slot f is redistributed to level 0;
  *                   higher levels, and slots behind f, stay as they are
  * }}}
  * So each move brings an id to a lower level. Cost: O(1) for `put`. Over its whole life an id is
  * moved at most as often as its time has digits that differ from the time at which it was put.
  * Nothing is compared or sorted. Memory: 12 bytes for each id, in arrays that grow by half; the
  * arrays of an emptied slot are freed.
  *
  * Times are any longs, in any unit. An id put several times is returned as often.
  */
final class TimingWheel {
  import TimingWheel._

  private[this] val levels = new Array[Array[Slot]](Levels)
  private[this] val due = new Slot
  private[this] var count = 0
  private[this] var last = 0L // `now`, in the order of unsigned numbers

  /** The number of ids that were put and not returned yet. */
  def size: Int = count

  /** Adds an id that is due at `time`. If that has passed, the next `advance` returns it. */
  def put(time: Long, id: Int): Unit = {
    count += 1
    place(unsigned(time), id)
  }

  /** Sets the time to `now`; `f` gets each id that is due at this time or before. `f` must not call
    * the wheel.
    */
  def advance(now: Long)(f: Int => Unit): Unit = {
    val to = unsigned(now)
    if (java.lang.Long.compareUnsigned(to, last) > 0) turn(to)
    var i = 0
    while (i < due.size) { f(due.id(i)); i += 1 }
    count -= due.size
    due.clear()
  }

  /** The least time at which an id is due; the greatest long if there is none. */
  def next: Long =
    if (due.size > 0) unsigned(due.least)
    else
      levels.iterator.filter(_ != null).flatMap(_.iterator).find(s => s != null && s.size > 0).fold(Long.MaxValue)(s =>
        unsigned(s.least)
      )

  /** The least time of an id that is still wanted; the greatest long if there is none. Unwanted ids
    * are dropped if they come first. Cost: that of `next`; if the first id is unwanted, a scan of
    * its slot.
    */
  def next(isWanted: (Long, Int) => Boolean): Long = {
    val slots = Iterator.single(due) ++ levels.iterator.filter(_ != null).flatMap(_.iterator).filter(_ != null)
    slots.find(wantedRemain(_, isWanted)).fold(Long.MaxValue)(slot => unsigned(slot.least))
  }

  /** Drops the unwanted ids of a slot if its first id (the one with the least time) is unwanted.
    * Returns whether ids remain; the first one is then wanted.
    */
  private def wantedRemain(slot: Slot, isWanted: (Long, Int) => Boolean): Boolean = {
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

  /** Sets the time to the later one `to`, and moves the ids that become due or change their level:
    * those of all slots that are passed, and of the slot of `to` at the highest level whose digit
    * changes.
    */
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

  /** Redistributes the ids of a slot. */
  private def take(slot: Slot): Unit = if (slot != null && slot.size > 0) {
    val (size, times, ids) = (slot.size, slot.times, slot.ids)
    slot.clear()
    var i = 0
    while (i < size) { place(times(i), ids(i)); i += 1 }
  }

  /** Adds an id to its slot; `time` is in unsigned order. */
  private def place(time: Long, id: Int): Unit =
    if (java.lang.Long.compareUnsigned(time, last) <= 0) due.add(time, id)
    else {
      val level = levelOf(time ^ last)
      if (levels(level) == null) levels(level) = new Array[Slot](Digits)
      val slot = digit(time, level)
      if (levels(level)(slot) == null) levels(level)(slot) = new Slot
      levels(level)(slot).add(time, id)
    }
}

private object TimingWheel {
  final val DigitBits = 4
  final val Digits = 1 << DigitBits
  final val Levels = 64 / DigitBits

  /** Maps a time to an unsigned number of the same order; its own inverse. */
  def unsigned(time: Long): Long = time ^ Long.MinValue

  /** The position of the highest digit that is not 0. */
  def levelOf(difference: Long): Int = (63 - java.lang.Long.numberOfLeadingZeros(difference)) / DigitBits

  /** The digit of a time at a level, level 0 being the lowest digit. */
  def digit(time: Long, level: Int): Int = (time >>> (DigitBits * level)).toInt & (Digits - 1)

  /** The ids of one slot with their times (in unsigned order), and which of them has the least
    * time.
    */
  final class Slot {
    var times: Array[Long] = Array.emptyLongArray
    var ids: Array[Int] = Array.emptyIntArray
    var size = 0
    var least = -1L // the greatest unsigned number
    var leastAt = -1

    /** The id at index `i`, in the order in which ids were added. */
    def id(i: Int): Int = ids(i)

    /** Adds an id with its time, which is in unsigned order. */
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
