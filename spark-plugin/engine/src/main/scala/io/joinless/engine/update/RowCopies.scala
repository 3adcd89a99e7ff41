package io.joinless.engine.update

import io.joinless.engine.tuples.TupleArena
import io.joinless.engine.view.ViewTree

/** Contents of rows of retractable inputs, kept beside their tree: when they are needed, the rows may be gone and their ids others'. */
final class RowCopies(tree: ViewTree) {
  private[this] val arenas =
    tree.block.inputs.map(i => if (i.retractable) new TupleArena(i.fixedWords) else null).toArray
  private[this] var buffer = new Array[Long](16)

  /** Keeps a row of the tree, which must be there; the copy's id among those of its input. */
  def add(input: Int, row: Int): Int = {
    val from = tree.arena(input)
    arenas(input).append(from.page(row), from.start(row), from.words(row))
  }

  def words(input: Int, copy: Int): Int = arenas(input).words(copy)

  /** The copy's words at the beginning of an array that the next call uses again. */
  def content(input: Int, copy: Int): Array[Long] = {
    val arena = arenas(input)
    val count = arena.words(copy)
    if (buffer.length < count) buffer = new Array[Long](2 * count)
    System.arraycopy(arena.page(copy), arena.start(copy), buffer, 0, count)
    buffer
  }

  def bytes: Long = arenas.iterator.filter(_ != null).map(_.bytes).sum
}
