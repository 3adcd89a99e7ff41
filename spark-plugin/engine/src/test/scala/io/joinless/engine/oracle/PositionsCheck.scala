package io.joinless.engine.oracle

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.algebra.Wide
import io.joinless.engine.positions.{ChosenPositions, PositionList, Positions}
import io.joinless.engine.view.ViewTree

/** Compares the results by position with those of the oracle: each is hit as often as its weight
  * says, by different copies of its rows; some positions have the results that the whole sequence
  * has there.
  *
  * @param stockRow the relation and a row id → the row of the stock
  * @param accept whether the residual conditions accept a combination of these rows
  */
final class PositionsCheck(relations: Int, stockRow: (Int, Int) => Int, accept: Array[Int] => Boolean, random: Random) {
  import PositionsCheck._

  /** The number of results that were found. */
  var found = 0L

  /** The results of a tree in the order of their positions, packed; empty if they are too many, or
    * have no positions.
    */
  def sequence(tree: ViewTree): Option[IndexedSeq[Long]] = if (tree.block.isBag) None
  else {
    val positions = new Positions(tree)
    Option.when(positions.total <= Most)(readAll(positions).map(_._1))
  }

  /** What is wrong with the positions of a tree, if anything. */
  def differs(tree: ViewTree, results: collection.Map[Long, Long]): Option[String] = if (tree.block.isBag) None
  else {
    val positions = new Positions(tree)
    if (positions.total > Most) None
    else {
      val all = readAll(positions)
      found += all.size
      val counts = mutable.Map.empty[Long, Long].withDefaultValue(0L)
      for ((result, _) <- all if accept(NaiveJoin.unpack(result, relations).toArray)) counts(result) += 1L
      val chosen = all.indices.filter(_ => random.nextInt(4) == 0)
      val again = read(positions, at(chosen))
      val from = if (all.isEmpty) 0 else random.nextInt(all.size)
      val page = read(positions, ChosenPositions.range(from, math.min(from + 10, all.size)))
      if (counts.toMap != results.toMap) Some(s"by position $counts, not $results")
      else if (all.distinct.size != all.size) Some("a copy of a result has two positions")
      else if (again != chosen.map(all)) Some(s"at the positions $chosen, $again")
      else if (page != all.slice(from, from + 10)) Some(s"the page from $from on, $page")
      else None
    }
  }

  private def readAll(positions: Positions) = read(positions, ChosenPositions.range(0, positions.total))

  /** The results at the chosen positions, packed, with the copies of their rows. */
  private def read(positions: Positions, chosen: ChosenPositions): IndexedSeq[(Long, IndexedSeq[Long])] = {
    val rows = new Array[Int](relations)
    val chunks = Iterator.continually(positions.next(chosen)).takeWhile(_.size > 0)
    chunks.flatMap { located =>
      (0 until located.size).map { i =>
        located.readRows(i, rows)
        val copies = rows.indices.map(located.copy(i, _))
        (
          NaiveJoin.pack(rows.zipWithIndex.map { case (row, r) => stockRow(r, row) }),
          rows.toIndexedSeq.map(_.toLong) ++ copies
        )
      }
    }.toIndexedSeq
  }

  /** Positions that are given one by one, in ascending order: one chunk. */
  private def at(chosen: Iterable[Int]): ChosenPositions = new ChosenPositions {
    private[this] var left = chosen

    override private[engine] def next(): PositionList = {
      val chunk = new PositionList
      left.foreach(p => chunk.add(Wide(p.toLong)))
      left = Nil
      chunk
    }
  }
}

object PositionsCheck {

  /** More results are not read. */
  final val Most = 3000
}
