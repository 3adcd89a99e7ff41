package io.joinless.engine.tuples

import java.util.Arrays

/** Copies and comparisons of runs of words, most of which are short: a loop finishes two or three
  * words before a library call has begun.
  */
private[engine] object Words {
  final private val Short = 4

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
}
