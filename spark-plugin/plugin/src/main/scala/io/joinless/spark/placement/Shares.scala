package io.joinless.spark.placement

import io.joinless.spark.plans.BlockSpec

/** Where the rows of a join block go, and what that costs (HyperCube, architecture D7).
  *
  * Attribute x has `shares(x)` coordinates; a cell is one coordinate per attribute; a row of relation e goes to every
  * cell that agrees with it on the attributes of e. With N_e rows in relation e and hashes that spread well:
  *
  *   load        = Σ_e N_e / Π_{x ∈ e} p_x                  rows per cell
  *   replication = Σ_e N_e · Π_{x ∉ e} p_x / Σ_e N_e        rows stored per row of a relation
  *
  * so load · cells = replication · Σ_e N_e. Relations that share a scan are counted each by itself: a row that several
  * of them send to the same cell is stored there once, so what is stored is at most this.
  */
final case class Placement(shares: IndexedSeq[Int], cells: Int, replication: Double, load: Double)

object Placement {

  /** @param sizes expected rows per relation, in any unit */
  def of(spec: BlockSpec, shares: IndexedSeq[Int], sizes: IndexedSeq[Double]): Placement = {
    require(shares.size == spec.attributes.size, "one share per attribute")
    require(sizes.size == spec.relations.size, "one size per relation")
    val cells = shares.product
    val load = spec.relations.indices.map { e =>
      sizes(e) / spec.relations(e).keys.map(k => shares(k.attribute).toDouble).product
    }.sum
    val total = sizes.sum
    Placement(shares, cells, if (total > 0) load * cells / total else 1.0, load)
  }
}

/** Chooses the shares: the vector with at most `partitions` cells and at most `maxReplication` that has the least load.
  *
  * Ties go to the lower replication, then to the larger share of the lowest attribute. One cell is always allowed. An
  * attribute that occurs only where another one occurs as well gets share 1: what it could divide, the other divides too
  * (Afrati and Ullman, "Optimizing joins in a map-reduce environment", EDBT 2010, dominance). The rest is searched
  * exhaustively, cut where even dividing all that is still open by the remaining cells would not help.
  */
object Shares {

  def choose(
      spec: BlockSpec,
      partitions: Int,
      maxReplication: Double,
      sizes: IndexedSeq[Double]
  ): IndexedSeq[Int] = {
    val attributes = undominated(spec)
    val search = new Search(spec, attributes, math.max(1, partitions), maxReplication, sizes)
    search.run()
    search.best
  }

  private def relationsOf(spec: BlockSpec, attribute: Int): Set[Int] =
    spec.relations.indices.filter(e => spec.relations(e).keys.exists(_.attribute == attribute)).toSet

  /** Attributes that no other attribute dominates; of those in equal relations the first. */
  private def undominated(spec: BlockSpec): IndexedSeq[Int] = {
    val where = spec.attributes.indices.map(relationsOf(spec, _))
    spec.attributes.indices.filter { x =>
      where(x).nonEmpty && !spec.attributes.indices.exists { y =>
        y != x && where(x).subsetOf(where(y)) && (where(x) != where(y) || y < x)
      }
    }
  }

  final private class Search(
      spec: BlockSpec,
      attributes: IndexedSeq[Int],
      partitions: Int,
      maxReplication: Double,
      sizes: IndexedSeq[Double]
  ) {
    // floating point sums of equal terms may differ in the last bit: what is closer than this is equal
    private[this] val Same = 1e-9
    private[this] val shares = Array.fill(spec.attributes.size)(1)
    private[this] val attributesOf: IndexedSeq[Set[Int]] = spec.relations.map(_.keys.map(_.attribute).toSet)
    private[this] var chosen = Placement.of(spec, shares.toVector, sizes)

    def best: IndexedSeq[Int] = chosen.shares

    def run(): Unit = descend(0, 1)

    private def descend(i: Int, cells: Int): Unit =
      if (i == attributes.size) consider()
      else if (hopeful(i, cells)) {
        var share = partitions / cells
        while (share >= 1) {
          shares(attributes(i)) = share
          descend(i + 1, cells * share)
          share -= 1
        }
        shares(attributes(i)) = 1
      }

    private def consider(): Unit = {
      val p = Placement.of(spec, shares.toVector, sizes)
      if (p.replication <= maxReplication * (1 + Same)) {
        val less = p.load < chosen.load * (1 - Same)
        val equal = !less && p.load <= chosen.load * (1 + Same)
        if (less || equal && p.replication < chosen.replication * (1 - Same)) chosen = p
      }
    }

    /** Replication only grows with further shares; a relation's load shrinks at most by the cells that are left. */
    private def hopeful(i: Int, cells: Int): Boolean = {
      val open = attributes.drop(i)
      val left = (partitions / cells).toDouble
      var load = 0.0
      var stored = 0.0
      for (e <- spec.relations.indices) {
        val own = attributesOf(e).iterator.map(shares(_).toDouble).product
        stored += sizes(e) * cells / own
        load += sizes(e) / own / (if (open.exists(attributesOf(e))) left else 1.0)
      }
      stored <= maxReplication * sizes.sum * (1 + Same) && load <= chosen.load * (1 + Same)
    }
  }
}
