package io.joinless.engine.sample

import scala.util.Random

import io.joinless.engine.oracle.{Case, CaseChange}
import io.joinless.engine.sample.SampledTree.Copy

/** A sample of the results of several cells: each keeps one of the same size of its own results,
  * and those with the least keys of all are the sample. Between batches, cells may be rebuilt from
  * what is stored: their rows, and the sampled copies with their keys.
  *
  * Rows are partitioned by one attribute, or by the rows of the first relation if there is none;
  * rows of relations without it are in all cells. So each result is in exactly one cell.
  *
  * @param seed that of the sample, from which those of the batches follow ([[SampleSeed]])
  */
final class SampledCells(
    query: Case,
    capacity: Int,
    cells: Int,
    restarts: Boolean,
    seed: Long,
    merge: SampledCells.Merge = SampledCells.Least
) extends KeptCopies {
  private[this] val trees = IndexedSeq.fill(cells)(new SampledTree(query, capacity))
  private[this] val stored =
    IndexedSeq.fill(cells)(query.relations.map(r => new Array[Long](query.inputs(r.input).rows.size)).toArray)
  private[this] val by = query.attributes.indices.lift(query.batches.size % math.max(1, query.attributes.size))
  private[this] val random = new Random(seed)
  private[this] var merged = Map.empty[Copy, Double]
  private[this] var batch = 0L

  /** Plays the batch in all cells; the seed is that of the sample. */
  override def play(changes: Iterable[CaseChange], ofBatch: Long): Seq[(Copy, Long)] = {
    for (cell <- 0 until cells) {
      val arriving = changes.map(change => change.copy(roles = rolesIn(cell, change))).filter(_.roles != 0L)
      val _ = trees(cell).play(arriving, SampleSeed(seed, cell, batch))
      for (change <- arriving; r <- query.relations.indices if (change.roles >>> r & 1L) != 0)
        stored(cell)(r)(change.row) += change.weight
      if (restarts && random.nextInt(3) == 0) trees(cell).rebuild(stored(cell), random)
    }
    batch += 1
    val before = merged
    merged = merge(trees.map(_.copies), capacity).toMap
    (before.keySet -- merged.keySet).toSeq.map(_ -> -1L) ++ (merged.keySet -- before.keySet).toSeq.map(_ -> 1L)
  }

  override def copies: Map[Copy, Double] = merged

  /** The number of results in all cells. */
  def total: BigInt = trees.map(_.total).sum

  /** The relations that have the changed row in a cell. */
  private def rolesIn(cell: Int, change: CaseChange): Long =
    query.relations.indices.filter { r =>
      val relation = query.relations(r)
      def column = by.flatMap(attribute => relation.keys.find(_._1 == attribute)).map(_._2)
      relation.input == change.input && {
        if (by.isEmpty && r == 0) change.row % cells == cell
        else column.forall(c => cellOf(query.inputs(relation.input).rows(change.row)(c)) == cell)
      }
    }.map(1L << _).sum & change.roles

  private def cellOf(value: Option[Long]): Int = math.floorMod(value.hashCode * 31 + 7, cells)
}

object SampledCells {

  /** How the samples of cells become one. */
  trait Merge {

    /** At most `capacity` copies. */
    def apply(cells: Seq[Map[Copy, Double]], capacity: Int): Seq[(Copy, Double)]
  }

  /** Those with the least keys. */
  object Least extends Merge {
    override def apply(cells: Seq[Map[Copy, Double]], capacity: Int): Seq[(Copy, Double)] =
      cells.flatten.sortBy(_._2).take(capacity)
  }
}
