package io.joinless.spark.source

import io.joinless.engine.enumerate.FullEnumeration
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.OutputRow
import org.apache.spark.sql.catalyst.InternalRow

/** All rows of one cell, with constant delay but for those that are rejected. The tree must not
  * change meanwhile. The same row object each time.
  */
final private[source] class EnumeratedRows(scan: ResultCells, tree: ViewTree, cell: Int) {
  private[this] val arenaOf = scan.arenas(tree)
  private[this] val enumeration = new FullEnumeration(tree, scan.residualsOver(arenaOf))
  private[this] val output = new OutputRow(scan.spec, arenaOf, words = tree.words, place = tree.location)
  private[this] val shown = scan.shown(cell)

  /** The stored rows of the current row, by relation. */
  def ids: Array[Int] = enumeration.rows

  /** How often the result has the current row. */
  def copies: Long = enumeration.weight

  /** Returns the next row that passes; null after the last one. */
  def next(): InternalRow = {
    while (enumeration.next()) {
      val row = shown(output.update(enumeration))
      if (row != null) return row
    }
    null
  }

  /** The rows from the next one on, each as often as the result has it. */
  def iterator: Iterator[InternalRow] = new Iterator[InternalRow] {
    private[this] var current: InternalRow = null
    private[this] var left = 0L // of its copies

    override def hasNext: Boolean = left > 0L || {
      current = EnumeratedRows.this.next()
      left = if (current == null) 0L else copies
      current != null
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more rows")
      left -= 1L
      current
    }
  }
}
