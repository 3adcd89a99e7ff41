package io.joinless.spark.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** The rows of one cell that have given values: from the tree of a running query, or else from one
  * that is rebuilt of the rows that have them ([[ResultReader]]).
  */
final private class LookupReader(scan: ResultCells, cell: Int) extends LazyReader {
  private[this] var rebuilt: PartitionReader[InternalRow] = _

  override protected def open(): Iterator[InternalRow] = new TreeLookup(scan, cell).rows.fold {
    rebuilt = new ResultReader(scan, cell)
    Iterator.continually(rebuilt).takeWhile(_.next()).map(_.get())
  }(_.iterator)

  override def close(): Unit = if (rebuilt != null) rebuilt.close()
}
