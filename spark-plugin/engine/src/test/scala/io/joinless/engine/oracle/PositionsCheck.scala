package io.joinless.engine.oracle

import scala.collection.mutable
import scala.util.Random

import io.joinless.engine.positions.{Located, Positions}
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

  /** The results of a tree in the order of their positions, packed; empty if they are too many. */
  def sequence(tree: ViewTree): Option[IndexedSeq[Long]] = {
    val positions = new Positions(tree)
    Option.when(positions.total <= Most)(read(positions.range(0, positions.total.toInt)).map(_._1))
  }

  /** What is wrong with the positions of a tree, if anything. */
  def differs(tree: ViewTree, results: collection.Map[Long, Long]): Option[String] = {
    val positions = new Positions(tree)
    if (positions.total > Most) None
    else {
      val all = read(positions.range(0, positions.total.toInt))
      found += all.size
      val counts = mutable.Map.empty[Long, Long].withDefaultValue(0L)
      for ((result, _) <- all if accept(NaiveJoin.unpack(result, relations).toArray)) counts(result) += 1L
      val chosen = all.indices.filter(_ => random.nextInt(4) == 0)
      val again = read(positions.at(chosen.map(BigInt(_))))
      val from = if (all.isEmpty) 0 else random.nextInt(all.size)
      val page = read(positions.range(from, math.min(10, all.size - from)))
      if (counts.toMap != results.toMap) Some(s"by position $counts, not $results")
      else if (all.distinct.size != all.size) Some("a copy of a result has two positions")
      else if (again != chosen.map(all)) Some(s"at the positions $chosen, $again")
      else if (page != all.slice(from, from + 10)) Some(s"the page from $from on, $page")
      else None
    }
  }

  /** The results, packed, with the copies of their rows. */
  private def read(located: Located): IndexedSeq[(Long, IndexedSeq[Long])] = {
    val rows = new Array[Int](relations)
    (0 until located.size).map { i =>
      located.readRows(i, rows)
      val copies = rows.indices.map(located.copy(i, _))
      (
        NaiveJoin.pack(rows.zipWithIndex.map { case (row, r) => stockRow(r, row) }),
        rows.toIndexedSeq.map(_.toLong) ++ copies
      )
    }
  }
}

object PositionsCheck {

  /** More results are not read. */
  final val Most = 3000
}
