package io.joinless.spark.source

import io.joinless.engine.enumerate.FullEnumeration
import io.joinless.engine.view.ViewTree
import io.joinless.spark.exec.rows.OutputRow
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** The result rows of one cell: its view tree is rebuilt from the log, then enumerated row by row,
  * on demand.
  *
  * Memory is that of the tree ([[CellTree]]); it is released by `close`. Cost: the log once, then
  * constant delay between rows but for those that `residuals` and `filters` reject. The same row
  * object is returned every time.
  */
final private class ResultReader(scan: ResultCells, cell: Int) extends PartitionReader[InternalRow] {
  private[this] val tree = scan.tree(cell)
  private[this] var results: Results = _
  private[this] var current: InternalRow = _
  private[this] var copies = 0L // of the current row, still to be returned

  /** Moves to the next row: a result is read as many times as its weight says. */
  override def next(): Boolean = {
    if (results == null) results = new Results(tree.rebuilt(scan.kept))
    if (copies > 0L) copies -= 1
    else {
      current = results.next()
      if (current != null) copies = results.weight - 1
    }
    current != null
  }

  override def get(): InternalRow = current

  override def close(): Unit = {
    results = null
    tree.close()
  }

  /** Enumerates a tree that does not change any more. */
  final private class Results(tree: ViewTree) {
    private[this] val arenaOf = scan.arenas(tree)
    private[this] val enumeration = new FullEnumeration(tree, scan.residualsOver(arenaOf))
    private[this] val output = new OutputRow(scan.spec, arenaOf, words = tree.words, place = tree.location)
    private[this] val shown = scan.shown(cell)

    /** Returns the next row that passes; null after the last one. */
    def next(): InternalRow = {
      while (enumeration.next()) {
        val row = shown(output.update(enumeration))
        if (row != null) return row
      }
      null
    }

    def weight: Long = enumeration.weight
  }
}
