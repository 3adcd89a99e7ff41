package io.joinless.engine.update

import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.RowStore

/** Copies of rows of retractable inputs, stored outside of the block's state: when they are needed,
  * the rows may have been freed and their ids reused. A row that is added several times in
  * succession is copied once.
  */
final class RowCopies(store: RowStore) {
  private[this] val arenas =
    store.block.inputs.map(i => if (i.retractable) new TupleArena(i.fixedWords) else null).toArray
  private[this] var buffer = new Array[Long](16)
  private[this] val last = Array.fill(arenas.length)(-1) // the input's newest copy

  /** Copies a row of the state, which must be present; returns the copy's id among those of its
    * input.
    */
  def add(input: Int, row: Int): Int = {
    val from = store.arena(input)
    val (page, start, words) = (from.page(row), from.start(row), from.words(row))
    // compared by content, since the id of the row that was added last may have been reused
    if (last(input) < 0 || !arenas(input).sameWords(last(input), page, start, words))
      last(input) = arenas(input).append(page, start, words)
    last(input)
  }

  /** The number of copies. */
  def size: Int = arenas.iterator.filter(_ != null).map(_.live).sum

  /** The number of words of a copy. */
  def words(input: Int, copy: Int): Int = arenas(input).words(copy)

  /** The copy's words, at the beginning of an array that the next call overwrites. */
  def content(input: Int, copy: Int): Array[Long] = {
    val arena = arenas(input)
    val count = arena.words(copy)
    if (buffer.length < count) buffer = new Array[Long](2 * count)
    System.arraycopy(arena.page(copy), arena.start(copy), buffer, 0, count)
    buffer
  }

  def bytes: Long = arenas.iterator.filter(_ != null).map(_.bytes).sum
}
