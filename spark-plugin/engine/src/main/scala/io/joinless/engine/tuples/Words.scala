package io.joinless.engine.tuples

import java.util.Arrays

/** Copies and comparisons of runs of words, most of which are short: a loop finishes two or three
  * words before a library call has begun.
  */
private[engine] object Words {
  final private val Short = 4
  final private val Multiplier = 0x9e3779b97f4a7c15L
  final private val Finisher = 0xbf58476d1ce4e5b9L

  /** Copies so many words from `from(at)` on to `into(to)` and the following. */
  def copy(from: Array[Long], at: Int, into: Array[Long], to: Int, words: Int): Unit =
    if (words > Short) System.arraycopy(from, at, into, to, words)
    else {
      var i = 0
      while (i < words) { into(to + i) = from(at + i); i += 1 }
    }

  /** Whether so many words are equal, from `a(atA)` and `b(atB)` on. */
  def same(a: Array[Long], atA: Int, b: Array[Long], atB: Int, words: Int): Boolean =
    if (words > Short) Arrays.equals(a, atA, atA + words, b, atB, atB + words)
    else {
      var i = 0
      while (i < words && a(atA + i) == b(atB + i)) i += 1
      i == words
    }

  /** A hash of 64 bits, which is part of the order of results by position: the same in all releases.
    */
  def hash(words: Array[Long], at: Int, count: Int): Long = {
    var h = count * Multiplier
    var i = at
    while (i < at + count) { h = mixed(h, words(i)); i += 1 }
    finished(h)
  }

  /** The same of the words at these offsets behind `at`. */
  def hash(words: Array[Long], at: Int, offsets: Array[Int]): Long = {
    var h = offsets.length * Multiplier
    var i = 0
    while (i < offsets.length) { h = mixed(h, words(at + offsets(i))); i += 1 }
    finished(h)
  }

  private def mixed(hash: Long, word: Long): Long = {
    val h = (hash ^ word) * Multiplier
    h ^ h >>> 32
  }

  private def finished(hash: Long): Long = {
    val h = (hash ^ hash >>> 29) * Finisher
    h ^ h >>> 32
  }

  /** Compares runs of words: by their length, then word by word. */
  def compare(a: Array[Long], atA: Int, wordsA: Int, b: Array[Long], atB: Int, wordsB: Int): Int =
    if (wordsA != wordsB) Integer.compare(wordsA, wordsB)
    else {
      var i = 0
      while (i < wordsA && a(atA + i) == b(atB + i)) i += 1
      if (i == wordsA) 0 else java.lang.Long.compare(a(atA + i), b(atB + i))
    }
}
