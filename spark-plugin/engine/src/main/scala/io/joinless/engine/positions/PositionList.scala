package io.joinless.engine.positions

import io.joinless.engine.algebra.Wide

/** A growable list of positions. */
final private[engine] class PositionList {
  private[this] var words = new Array[Long](32)
  private[this] var count = 0

  def size: Int = count

  def add(position: Wide): Unit = {
    if (2 * count == words.length) words = java.util.Arrays.copyOf(words, 2 * words.length)
    position.write(words, 2 * count)
    count += 1
  }

  def read(i: Int, into: Wide): Unit = into.read(words, 2 * i)

  def clear(): Unit = count = 0

  /** Sorts the positions in ascending order, and removes repeated ones. */
  def sortDistinct(): Unit = {
    val order = Array.range(0, count)
    IndexSort.sort(order, 0, count, (a, b) => compare(a, b))
    val sorted = new Array[Long](math.max(32, 2 * count))
    var kept = 0
    for (i <- order.indices if i == 0 || compare(order(i - 1), order(i)) != 0) {
      sorted(2 * kept) = words(2 * order(i))
      sorted(2 * kept + 1) = words(2 * order(i) + 1)
      kept += 1
    }
    words = sorted
    count = kept
  }

  private def compare(a: Int, b: Int): Int =
    Wide.compare(words(2 * a + 1), words(2 * a), words(2 * b + 1), words(2 * b))
}
