package io.joinless.engine.positions

import java.util.Arrays

import io.joinless.engine.algebra.Wide

/** A growable list of positions. */
final private[engine] class PositionList {
  private[this] var words = new Array[Long](32)
  private[this] var count = 0

  def size: Int = count

  /** Appends a copy of the position. */
  def add(position: Wide): Unit = {
    if (2 * count == words.length) words = Arrays.copyOf(words, 2 * words.length)
    position.write(words, 2 * count)
    count += 1
  }

  /** Reads the position at index `i`. */
  def read(i: Int, into: Wide): Unit = into.read(words, 2 * i)

  def clear(): Unit = count = 0

  /** Sorts the positions in ascending order; repeated ones stay. */
  def sort(): Unit = sort(isDistinct = false)

  /** Sorts the positions in ascending order, and removes repeated ones. */
  def sortDistinct(): Unit = sort(isDistinct = true)

  private def sort(isDistinct: Boolean): Unit = {
    if (isOneWord) sortWords() else sortPairs()
    if (isDistinct) {
      var (kept, i) = (0, 0)
      while (i < count) {
        if (kept == 0 || compare(kept - 1, i) != 0) { move(i, kept); kept += 1 }
        i += 1
      }
      count = kept
    }
  }

  /** Whether all positions fit one word, with its sign. */
  private def isOneWord: Boolean = {
    var i = 0
    while (i < count && words(2 * i + 1) == 0L && words(2 * i) >= 0L) i += 1
    i == count
  }

  /** Sorts positions that fit one word. */
  private def sortWords(): Unit = {
    val lows = new Array[Long](count)
    var i = 0
    while (i < count) { lows(i) = words(2 * i); i += 1 }
    Arrays.sort(lows)
    i = 0
    while (i < count) { words(2 * i) = lows(i); i += 1 }
  }

  private def sortPairs(): Unit = {
    val order = Array.range(0, count)
    IndexSort.sort(order, 0, count, (a, b) => compare(a, b))
    val sorted = new Array[Long](words.length)
    var i = 0
    while (i < count) {
      sorted(2 * i) = words(2 * order(i))
      sorted(2 * i + 1) = words(2 * order(i) + 1)
      i += 1
    }
    words = sorted
  }

  /** Appends the positions of another list. */
  def addAll(other: PositionList): Unit = {
    val position = new Wide
    for (i <- 0 until other.size) { other.read(i, position); add(position) }
  }

  /** Removes the positions of another list; both are in ascending order. */
  def removeAll(other: PositionList): Unit = {
    val (mine, its) = (new Wide, new Wide)
    var (kept, o) = (0, 0)
    for (i <- 0 until count) {
      read(i, mine)
      while (o < other.size && { other.read(o, its); its.compare(mine) < 0 }) o += 1
      if (o == other.size || its.compare(mine) != 0) { move(i, kept); kept += 1 }
    }
    count = kept
  }

  /** Keeps only the positions at these ascending indexes. */
  def keep(indexes: Array[Int]): Unit = {
    for (i <- indexes.indices) move(indexes(i), i)
    count = indexes.length
  }

  /** Copies the position at one index to another. */
  private def move(from: Int, to: Int): Unit = {
    words(2 * to) = words(2 * from)
    words(2 * to + 1) = words(2 * from + 1)
  }

  /** Compares the positions at two indexes. */
  private def compare(a: Int, b: Int): Int =
    Wide.compare(words, 2 * a, 2 * b)
}
