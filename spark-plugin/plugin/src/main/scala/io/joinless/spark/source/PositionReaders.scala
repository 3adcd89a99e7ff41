package io.joinless.spark.source

import io.joinless.engine.positions.ChosenPositions
import io.joinless.engine.sample.{KeyedPositions, ThinnedPositions}
import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow

/** The number of rows of one cell. A sum of such numbers over all cells fits 64 bits. */
final private class NumberReader(scan: ResultCells, cell: Int, columns: Int) extends OneCellReader(scan, cell) {

  override protected def open(): Iterator[InternalRow] = {
    val number = new TreeLookup(scan, cell).number.getOrElse(positions.total)
    if (number > Long.MaxValue / scan.spec.cells) throw JoinlessErrors.countBeyond64Bits(cell, number, scan.spec.cells)
    Iterator.single(new GenericInternalRow(Array.fill[Any](columns)(number.toLong)))
  }
}

/** Rows of one cell, each with the same chance. */
final private class ThinnedReader(scan: ResultCells, cell: Int, thinned: Reading.Thinned)
    extends OneCellReader(scan, cell) {
  import thinned._

  override protected def open(): Iterator[InternalRow] = positions.rows(
    { total =>
      val expected = BigDecimal(total) * BigDecimal(fraction) + 1
      Chosen(chosenOf(total), expected.toBigInt)
    },
    thin
  )

  private def chosenOf(total: BigInt) = new ThinnedPositions(fraction, replacement, CellSeed(seed, cell), total)

  private def thin(all: Iterator[InternalRow]): Iterator[InternalRow] = {
    val chosen = chosenOf(Long.MaxValue)
    var (number, next) = (0L, chosen.nextLong())
    all.flatMap { row =>
      var copies = 0
      while (next == number) { copies += 1; next = chosen.nextLong() }
      number += 1L
      Iterator.fill(copies)(row)
    }
  }
}

/** Candidates of one cell for a sample, where none are rejected. */
final private class DrawnReader(scan: ResultCells, cell: Int, drawn: Reading.Drawn)
    extends OneCellReader(scan, cell) {
  import drawn._

  override protected def open(): Iterator[InternalRow] = positions.rows { total =>
    val keyed = new KeyedPositions(total, replacement, CellSeed(seed, cell))
    keyed.wanted = size.toLong
    Chosen(keyed, if (replacement) BigInt(size) else total.min(size), Some(keyed.key))
  }
}

/** The rows of some cells in the order of the result, from one number to another. A cell is loaded
  * when those before it are read.
  */
final private class PageReader(scan: ResultCells, page: PagePartition) extends LazyReader {
  private[this] var skip = page.skip
  private[this] var left = page.size.getOrElse(PageReader.All)
  private[this] var loaded: Option[CellPositions] = None

  override protected def open(): Iterator[InternalRow] = if (scan.rejects) walked() else jumped()

  /** Numbers of rows say where the page begins. */
  private def jumped(): Iterator[InternalRow] = page.cells.iterator.takeWhile(_ => left > 0).flatMap { cell =>
    rowsOf(cell) { total =>
      val from = skip.min(total)
      val until = (from + left).min(total)
      skip -= from
      left -= until - from
      (from, until)
    }
  }

  /** Each position is looked at, from the first one on. */
  private def walked(): Iterator[InternalRow] = {
    val all = page.cells.iterator.flatMap(rowsOf(_)(total => (BigInt(0), total)))
    while (skip > 0 && all.hasNext) {
      skip -= 1
      all.next()
    }
    new Iterator[InternalRow] {
      override def hasNext: Boolean = left > 0 && all.hasNext
      override def next(): InternalRow = { left -= 1; all.next() }
    }
  }

  private def rowsOf(cell: Int)(range: BigInt => (BigInt, BigInt)): Iterator[InternalRow] = {
    close()
    val positions = new CellPositions(scan, cell)
    loaded = Some(positions)
    positions.rows { total =>
      val (from, until) = range(total)
      Chosen(ChosenPositions.range(from, until), until - from)
    }
  }

  override def close(): Unit = loaded.foreach(_.close())
}

private object PageReader {
  final val All: BigInt = BigInt(2).pow(127)
}

/** Different cells draw different numbers. */
private[source] object CellSeed {
  def apply(seed: Long, cell: Int): Long = (seed ^ (cell + 1L) * 0x9e3779b97f4a7c15L) * 0xbf58476d1ce4e5b9L
}
