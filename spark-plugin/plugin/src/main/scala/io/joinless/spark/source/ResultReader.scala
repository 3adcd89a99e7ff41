package io.joinless.spark.source

import org.apache.spark.sql.catalyst.InternalRow

/** The result rows of one cell: its view tree is rebuilt from the log, then enumerated row by row,
  * on demand. A result is read as many times as its weight says.
  *
  * Memory is that of the tree ([[CellTree]]); it is released by `close`. Cost: the log once, then
  * constant delay between rows but for those that `residuals` and `filters` reject. The same row
  * object is returned every time.
  */
final private class ResultReader(scan: ResultCells, cell: Int) extends LazyReader {
  private[this] val tree = scan.tree(cell)

  override protected def open(): Iterator[InternalRow] =
    new EnumeratedRows(scan, tree.rebuilt(scan.kept), cell).iterator

  override def close(): Unit = tree.close()
}
