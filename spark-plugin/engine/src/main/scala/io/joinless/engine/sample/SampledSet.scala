package io.joinless.engine.sample

/** The copies of results in a reservoir of a sample, to be asked whether one is among them: a hash
  * table of slots, as of its creation.
  */
final private[sample] class SampledSet(sample: KeptSample, reservoir: Reservoir, relations: Int) {
  private[this] val table = new Array[Int](Integer.highestOneBit(math.max(8, 2 * reservoir.size)) << 1) // 1 + slot
  private[this] val mask = table.length - 1

  reservoir.foreach { slot =>
    var at = hash(r => sample.row(slot, r), r => sample.copy(slot, r))
    while (table(at) != 0) at = at + 1 & mask
    table(at) = slot + 1
  }

  /** Whether a copy is among them, given by its rows and, for each row, which of its copies. */
  def contains(rows: Array[Int], copies: Array[Long]): Boolean = {
    var at = hash(rows(_), copies(_))
    while (table(at) != 0 && !isCopy(table(at) - 1, rows, copies)) at = at + 1 & mask
    table(at) != 0
  }

  /** Whether the copy in a slot is this one. */
  private def isCopy(slot: Int, rows: Array[Int], copies: Array[Long]): Boolean = {
    var r = 0
    while (r < relations && sample.row(slot, r) == rows(r) && sample.copy(slot, r) == copies(r)) r += 1
    r == relations
  }

  /** The place in the table at which the search for a copy begins. */
  private def hash(row: Int => Int, copy: Int => Long): Int = {
    var h = 0L
    var r = 0
    while (r < relations) {
      h = ((h ^ row(r)) * 0x9e3779b97f4a7c15L ^ copy(r)) * 0xbf58476d1ce4e5b9L
      h ^= h >>> 29
      r += 1
    }
    (h >>> 32).toInt & mask
  }
}
