package io.joinless.spark.state

import io.joinless.engine.tuples.TupleArena
import org.apache.spark.unsafe.Platform

/** Copies the bytes of a row, from any memory, into an array of words that the next row reuses. */
final private[spark] class RowWords {
  private[this] var words = new Array[Long](64)

  /** The words of a row: a copy, which the next call overwrites.
    *
    * @param bytes a multiple of 8; as many words are those of the row, words after them are
    *     undefined
    */
  def apply(base: AnyRef, offset: Long, bytes: Int): Array[Long] = {
    val count = bytes >>> 3
    if (words.length < count) words = new Array[Long](2 * count)
    Platform.copyMemory(base, offset, words, Platform.LONG_ARRAY_OFFSET, bytes)
    words
  }

  /** A row of an arena. */
  def apply(arena: TupleArena, row: Int): Array[Long] =
    apply(arena.page(row), RowWords.offset(arena, row), 8 * arena.words(row))
}

private[spark] object RowWords {

  /** The offset of a row's bytes in its page. */
  def offset(arena: TupleArena, row: Int): Long = Platform.LONG_ARRAY_OFFSET + 8L * arena.start(row)
}
