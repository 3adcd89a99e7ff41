package io.joinless.spark.source

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.positions.Positions
import io.joinless.engine.sample.KeyedPositions
import io.joinless.engine.view.ViewTree
import org.apache.spark.sql.catalyst.InternalRow

/** Candidates of one cell for a sample, where some combinations are rejected: positions are drawn
  * until enough are rows of the result.
  *
  * If few are, all results are enumerated instead, and so are those of a bag. What was drawn before
  * stays valid: the keys up to the last one are known, and the other results get keys above it. So
  * it does not matter to the sample when the walk begins.
  *
  * @param firstDraws so many positions are looked at before a walk is thought of
  * @param mostDraws a walk begins if more positions than that would have to be looked at
  * @param chunk so many positions are drawn first
  */
final private class SiftingReader(
    scan: ResultCells,
    cell: Int,
    drawn: Reading.Drawn,
    firstDraws: Long = SiftingReader.FirstDraws,
    mostDraws: Long = SiftingReader.MostDraws,
    chunk: Long = 1024L
) extends OneCellReader(scan, cell) {
  import drawn._

  private[this] val add = scan.keyed
  private[this] val found = ArrayBuffer.empty[(Double, InternalRow)]

  /** How many copies of a result were found, by its stored rows. */
  private[this] val foundOf = mutable.HashMap.empty[Seq[Int], Long]

  override protected def open(): Iterator[InternalRow] = {
    if (scan.spec.isBag) walkAll(positions.own(), keys(total = 0))
    else {
      val (tree, all) = positions.ownPositions()
      val keyed = keys(all.total)
      if (!drawFrom(tree, all, keyed)) walkAll(tree, keyed)
    }
    found.iterator.map { case (key, row) => add(row, key) }
  }

  private def keys(total: BigInt) = new KeyedPositions(total, replacement, CellSeed(seed, cell))

  private def walkAll(tree: ViewTree, keyed: KeyedPositions): Unit =
    if (replacement) walkTwice(tree, keyed) else walk(tree, keyed)

  /** Draws positions; false if a walk costs less. */
  private def drawFrom(tree: ViewTree, all: Positions, keyed: KeyedPositions): Boolean = {
    val rows = new CellPositions.RowsAt(scan, tree, cell)
    var looked = 0L
    var left = true

    /** How many positions must be looked at until enough are found, by those so far. */
    def expected: Double = (size - found.size).toDouble * looked / found.size
    while (left && found.size < size && (looked < firstDraws || expected <= mostDraws)) {
      keyed.wanted =
        math.max(chunk, math.min(if (found.isEmpty) looked else (expected * 1.1).toLong, SiftingReader.MostDraws))
      val located = all.next(keyed)
      looked += located.size
      left = located.size > 0
      for (i <- 0 until located.size) {
        val row = rows(located, i)
        if (row != null) {
          found += keyed.key(i) -> row.copy()
          if (!replacement) foundOf.updateWith(rows.ids.toSeq)(n => Some(n.getOrElse(0L) + 1L))
        }
      }
    }
    !left || found.size >= size
  }

  /** Adds the results with the smallest keys of those that were not found. */
  private def walk(tree: ViewTree, keyed: KeyedPositions): Unit = {
    val least = mutable.PriorityQueue.from(found)(Ordering.by(_._1))
    val from = keyed.drawnUpTo
    foreach(tree) { (ids, row, copies) =>
      var others = copies - foundOf.getOrElse(ids.toSeq, 0L)
      var key = from
      while (others > 0L) {
        key = keyed.keyOfOthers(key, others)
        if (least.size < size || key < least.head._1) {
          least += key -> row.copy()
          if (least.size > size) { val _ = least.dequeue() }
          others -= 1L
        } else others = 0L
      }
    }
    found.clear()
    found ++= least
  }

  /** Adds results that arrive after those that were found: their number must be known first. */
  private def walkTwice(tree: ViewTree, keyed: KeyedPositions): Unit = {
    var number = 0L
    foreach(tree)((_, _, copies) => number += copies)
    if (number > 0L) {
      val arrivals = keyed.arrivals(size - found.size, number)
      var (at, before) = (0, 0L)
      foreach(tree) { (_, row, copies) =>
        before += copies
        while (at < arrivals.length && arrivals(at)._1 < before) {
          found += arrivals(at)._2 -> row.copy()
          at += 1
        }
      }
    }
  }

  /** Calls `f` with the stored rows, the row and the number of copies of each result. */
  private def foreach(tree: ViewTree)(f: (Array[Int], InternalRow, Long) => Unit): Unit = {
    val rows = new EnumeratedRows(scan, tree, cell)
    var row = rows.next()
    while (row != null) {
      f(rows.ids, row, rows.copies)
      row = rows.next()
    }
  }
}

private object SiftingReader {
  final val FirstDraws = 1L << 20
  final val MostDraws = 10000000L
}
