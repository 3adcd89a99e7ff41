package io.joinless.engine.tuples

/** Reads a part of each row, and looks it up in an index. */
trait RowReader {

  /** The id of the row's part in `index`; a new part is added. */
  def findOrAdd(index: KeyIndex, row: Int): Int

  /** The hash of the row's part in an index. */
  def hash(row: Int): Int
}
