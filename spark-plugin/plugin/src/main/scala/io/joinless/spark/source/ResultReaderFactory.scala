package io.joinless.spark.source

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}

/** The reader of a partition: what is read decides. */
final private case class ResultReaderFactory(cells: ResultCells, reading: Reading) extends PartitionReaderFactory {
  import Reading._

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    (reading, partition) match {
      case (Whole, CellPartition(cell, _)) if cells.lookedUpIn.isDefined => new LookupReader(cells, cell)
      case (Whole, CellPartition(cell, _)) => new ResultReader(cells, cell)
      case (Numbers(columns), CellPartition(cell, _)) => new NumberReader(cells, cell, columns)
      case (thinned: Thinned, CellPartition(cell, _)) => new ThinnedReader(cells, cell, thinned)
      case (drawn: Drawn, CellPartition(cell, _)) if cells.rejects => new SiftingReader(cells, cell, drawn)
      case (drawn: Drawn, CellPartition(cell, _)) => new DrawnReader(cells, cell, drawn)
      case (_: Page, page: PagePartition) => new PageReader(cells, page)
      case other => throw new IllegalArgumentException(s"no such reading: $other")
    }

  /** The number of rows of a cell, where none are rejected. */
  def number(cell: Int): BigInt = new TreeLookup(cells, cell).number.getOrElse {
    val positions = new CellPositions(cells, cell)
    try positions.total
    finally positions.close()
  }
}
