package io.joinless.spark.placement

import io.joinless.spark.spec.BlockShape

/** The placement of the rows of a join block, and its cost (HyperCube: algorithms A41 to A43,
  * architecture D7).
  *
  * Attribute x has `shares(x)` coordinates; a cell is one coordinate per attribute; a row of
  * relation e is sent to every cell that agrees with it on the attributes of e. With N_e rows in
  * relation e and hashes that spread well:
  *
  *   load        = Σ_e N_e / Π_{x ∈ e} p_x                  rows per cell
  *   replication = Σ_e N_e · Π_{x ∉ e} p_x / Σ_e N_e        rows stored per row of a relation
  *
  * so load · cells = replication · Σ_e N_e. Relations that share a scan are each counted
  * separately: a row that several of them send to the same cell is stored there once.
  *
  * @param stored upper bound on the stored copies of an input's row: in no more cells than its
  *   relations together send it to, and than there are; the average over inputs, each as large as
  *   its largest relation
  */
final case class Placement(shares: IndexedSeq[Int], cells: Int, replication: Double, load: Double, stored: Double) {

  /** Whether no row is stored in several cells. */
  def copiesNothing: Boolean = stored < 1 + 1e-9
}

object Placement {

  /** The placement by these shares, with its cost.
    *
    * @param sizes expected rows per relation, in any unit
    */
  def of(shape: BlockShape, shares: IndexedSeq[Int], sizes: IndexedSeq[Double]): Placement = {
    require(shares.size == shape.attributes.size, "one share per attribute")
    require(sizes.size == shape.relations.size, "one size per relation")
    val cells = shares.foldLeft(1)(Math.multiplyExact(_, _))
    val parts = shape.relations.map(_.keys.map(k => shares(k.attribute).toDouble).product)
    val load = shape.relations.indices.map(e => sizes(e) / parts(e)).sum
    val total = sizes.sum
    Placement(shares, cells, if (total > 0) load * cells / total else 1.0, load, stored(shape, cells, parts, sizes))
  }

  /** The stored copies of an input's row ([[Placement.stored]]).
    *
    * @param parts per relation, the number of cells among which its rows are divided
    */
  private def stored(shape: BlockShape, cells: Int, parts: IndexedSeq[Double], sizes: IndexedSeq[Double]): Double = {
    val inputs = rolesOfInputs(shape)
    val rows = inputs.map(_.map(sizes).max)
    val copies = inputs.map(roles => math.min(cells.toDouble, roles.map(cells / parts(_)).sum))
    if (rows.sum > 0) copies.zip(rows).map { case (c, n) => c * n }.sum / rows.sum else 1.0
  }

  /** The relations of each input that has some. */
  private[placement] def rolesOfInputs(shape: BlockShape): Seq[IndexedSeq[Int]] =
    shape.relations.indices.groupBy(shape.relations(_).input).toSeq.sortBy(_._1).map(_._2)
}

/** Chooses the shares: the vector with at most `maxCells` cells that has the least load, of those
  * that store a row at most `maxReplication` times, over all its roles.
  *
  * Ties are decided by the lower replication, then by the larger share of the lowest attribute. One
  * cell is always allowed. An attribute that occurs only where another one occurs as well gets
  * share 1: what it could divide, the other divides too (Afrati and Ullman, "Optimizing joins in a
  * map-reduce environment", EDBT 2010, dominance). The rest is searched exhaustively. A branch is
  * cut if it would not reach a load that is known to be reachable, even if all open attributes were
  * divided by the remaining cells.
  */
object Shares {

  /** The shares by attribute of the block.
    *
    * @param maxCells the maximum number of cells; one cell is always allowed
    * @param maxReplication the maximum of [[Placement.stored]]
    * @param sizes expected rows per relation, in any unit
    */
  def choose(
      shape: BlockShape,
      maxCells: Int,
      maxReplication: Double,
      sizes: IndexedSeq[Double]
  ): IndexedSeq[Int] = {
    val attributes = undominated(shape)
    val search = new Search(shape, attributes, math.max(1, maxCells), maxReplication, sizes)
    search.run()
    search.best
  }

  /** The relations that have an attribute. */
  private def relationsOf(shape: BlockShape, attribute: Int): Set[Int] =
    shape.relations.indices.filter(e => shape.relations(e).keys.exists(_.attribute == attribute)).toSet

  /** Attributes that no other attribute dominates; of those in equal relations the first. */
  private def undominated(shape: BlockShape): IndexedSeq[Int] = {
    val where = shape.attributes.indices.map(relationsOf(shape, _))
    shape.attributes.indices.filter { x =>
      where(x).nonEmpty && !shape.attributes.indices.exists { y =>
        y != x && where(x).subsetOf(where(y)) && (where(x) != where(y) || y < x)
      }
    }
  }

  /** The search over vectors of shares for `attributes`; all other attributes get 1. Below, the i-th
    * attribute is the i-th of `attributes`, not of the block.
    */
  final private class Search(
      shape: BlockShape,
      attributes: IndexedSeq[Int],
      maxCells: Int,
      maxReplication: Double,
      sizes: IndexedSeq[Double]
  ) {
    // floating point sums of equal terms may differ in the last bit: closer values are equal
    final private[this] val Same = 1e-9
    private[this] val size = sizes.toArray
    private[this] val total = size.sum
    private[this] val rolesOfInput: Array[Array[Int]] = Placement.rolesOfInputs(shape).map(_.toArray).toArray
    private[this] val rowsOfInput: Array[Double] = rolesOfInput.map(_.map(size(_)).max)
    private[this] val rows = rowsOfInput.sum
    private[this] val members: Array[Array[Int]] = attributes.map(relationsOf(shape, _).toArray).toArray
    // the last of `attributes` that a relation has: before that one is chosen, its load can still
    // shrink
    private[this] val lastOf: Array[Int] = size.indices.map(e => members.lastIndexWhere(_.contains(e))).toArray

    private[this] val shares = Array.fill(attributes.size)(1)
    private[this] val own = Array.fill(size.length)(1.0) // product of a relation's shares so far
    private[this] var chosen = shares.clone()
    private[this] var load = total
    private[this] var replication = 1.0
    private[this] val reachable = greedyLoad()

    /** The best vector found, by attribute of the block. */
    def best: IndexedSeq[Int] = {
      val all = Array.fill(shape.attributes.size)(1)
      attributes.indices.foreach(i => all(attributes(i)) = chosen(i))
      all.toVector
    }

    /** Searches all vectors that are not cut. */
    def run(): Unit = descend(0, 1)

    /** Tries all shares of the attributes from the i-th on; those before it make `cells` cells. */
    private def descend(i: Int, cells: Int): Unit =
      if (hopeful(i, cells)) {
        if (i == attributes.size) consider(cells)
        else {
          var share = maxCells / cells
          while (share >= 1) {
            set(i, share)
            descend(i + 1, cells * share)
            share -= 1
          }
          set(i, 1)
        }
      }

    /** Sets the share of the i-th attribute. */
    private def set(i: Int, share: Int): Unit = {
      for (e <- members(i)) own(e) = own(e) / shares(i) * share
      shares(i) = share
    }

    /** Takes over the current vector, which makes `cells` cells, if it is better than the best one
      * so far.
      */
    private def consider(cells: Int): Unit = {
      val itsLoad = loadWith(attributes.size, 1)
      val itsReplication = if (total > 0) itsLoad * cells / total else 1.0
      val less = itsLoad < load * (1 - Same)
      val equal = !less && itsLoad <= load * (1 + Same)
      if (less || equal && itsReplication < replication * (1 - Same)) {
        chosen = shares.clone()
        load = itsLoad
        replication = itsReplication
      }
    }

    /** The load once attributes before `i` are chosen, if the others could divide each relation by
      * `left`.
      */
    private def loadWith(i: Int, left: Int): Double = {
      var sum = 0.0
      var e = 0
      while (e < size.length) {
        sum += size(e) / (if (lastOf(e) >= i) own(e) * left else own(e))
        e += 1
      }
      sum
    }

    /** Whether a branch can still be the best, in which attributes before `i` are chosen and make
      * `cells` cells. Copies only grow with further shares; a relation's
      * load shrinks at most by the cells that are left.
      */
    private def hopeful(i: Int, cells: Int): Boolean =
      affordable(cells) && loadWith(i, maxCells / cells) <= math.min(load, reachable) * (1 + Same)

    /** Whether so many cells store rows no more often than is allowed; one cell always. */
    private def affordable(cells: Int): Boolean =
      cells == 1 || stored(cells) <= maxReplication * rows * (1 + Same)

    /** Rows stored of all inputs ([[Placement.stored]]). */
    private def stored(cells: Int): Double = {
      var sum = 0.0
      var i = 0
      while (i < rolesOfInput.length) {
        var copies = 0.0
        for (e <- rolesOfInput(i)) copies += cells / own(e)
        sum += rowsOfInput(i) * math.min(cells.toDouble, copies)
        i += 1
      }
      sum
    }

    /** The number of cells once a share is larger by one. */
    private def grown(cells: Int, share: Int): Long = cells.toLong / share * (share + 1)

    /** A load that some vector reaches, found by taking the best single step repeatedly. Vectors
      * that cannot reach it are not searched.
      */
    private def greedyLoad(): Double = {
      var cells = 1
      var reached = total
      var going = true
      while (going) {
        var step = -1
        for (i <- attributes.indices) {
          val before = shares(i)
          val after = grown(cells, before)
          if (after <= maxCells) {
            set(i, before + 1)
            val next = loadWith(attributes.size, 1)
            if (affordable(after.toInt) && next < reached * (1 - Same)) { step = i; reached = next }
            set(i, before)
          }
        }
        going = step >= 0
        if (going) {
          cells = grown(cells, shares(step)).toInt
          set(step, shares(step) + 1)
        }
      }
      attributes.indices.foreach(set(_, 1))
      java.util.Arrays.fill(own, 1.0)
      reached
    }
  }
}
