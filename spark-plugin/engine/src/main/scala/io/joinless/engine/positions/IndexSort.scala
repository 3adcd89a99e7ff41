package io.joinless.engine.positions

/** Sorts indexes by an order that is given as a comparison: a stable merge sort, by insertion where
  * few are left.
  */
private[positions] object IndexSort {
  final private val Few = 12

  trait Order {
    def compare(a: Int, b: Int): Int
  }

  /** Sorts `indexes(from until until)`. */
  def sort(indexes: Array[Int], from: Int, until: Int, order: Order): Unit =
    if (until - from <= Few) insert(indexes, from, until, order)
    else merge(indexes, java.util.Arrays.copyOfRange(indexes, from, until), from, until, from, order)

  /** Sorts `indexes(from until until)` by insertion. */
  private def insert(indexes: Array[Int], from: Int, until: Int, order: Order): Unit = {
    var i = from + 1
    while (i < until) {
      val moved = indexes(i)
      var free = i
      while (free > from && order.compare(indexes(free - 1), moved) > 0) {
        indexes(free) = indexes(free - 1)
        free -= 1
      }
      indexes(free) = moved
      i += 1
    }
  }

  /** Sorts `into(from until until)`, of which `source` holds a copy from index `from − base` on. */
  private def merge(into: Array[Int], source: Array[Int], from: Int, until: Int, base: Int, order: Order): Unit =
    if (until - from <= Few) insert(into, from, until, order)
    else {
      val middle = (from + until) >>> 1
      merge(into, source, from, middle, base, order)
      merge(into, source, middle, until, base, order)
      System.arraycopy(into, from, source, from - base, until - from)
      var left = from - base
      var right = middle - base
      var i = from
      while (i < until) {
        val takeLeft =
          right >= until - base || left < middle - base && order.compare(source(left), source(right)) <= 0
        if (takeLeft) { into(i) = source(left); left += 1 }
        else { into(i) = source(right); right += 1 }
        i += 1
      }
    }
}
