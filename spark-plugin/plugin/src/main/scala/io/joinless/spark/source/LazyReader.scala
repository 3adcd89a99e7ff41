package io.joinless.spark.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** The rows that an iterator returns, which is made when the first one is read. */
abstract private[source] class LazyReader extends PartitionReader[InternalRow] {
  private[this] var current: InternalRow = _

  protected lazy val rows: Iterator[InternalRow] = open()

  protected def open(): Iterator[InternalRow]

  final override def next(): Boolean = {
    val more = rows.hasNext
    current = if (more) rows.next() else null
    more
  }

  final override def get(): InternalRow = current
}

/** Rows of one cell by their positions. */
abstract private[source] class OneCellReader(scan: ResultCells, cell: Int) extends LazyReader {
  final protected val positions = new CellPositions(scan, cell)

  final override def close(): Unit = positions.close()
}
