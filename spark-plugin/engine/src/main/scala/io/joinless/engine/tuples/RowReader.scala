package io.joinless.engine.tuples

/** Reads a part of rows, and finds it in an index. */
trait RowReader {

  /** Id of the row's part in `index`; added where it is new. */
  def findOrAdd(index: KeyIndex, row: Int): Int
}
