package io.joinless.engine.query

/** A tree with its measures. At equal height the order is (cost, generalized nodes, tie). Each of
  * the three is additive over disjoint parts, so a worse part never belongs to a better whole of
  * the same height.
  */
final private[query] case class Candidate(height: Int, cost: Double, generalized: Int, tie: Long, tree: JoinTree) {

  /** Whether this candidate dominates the other: neither higher nor later in the order. */
  def covers(other: Candidate): Boolean = height <= other.height && Candidate.rank.lteq(this, other)
}

private[query] object Candidate {

  private val rank: Ordering[Candidate] =
    Ordering.by[Candidate, Double](_.cost)(Ordering.Double.TotalOrdering).orElseBy(_.generalized).orElseBy(_.tie)

  /** The tie-break cost of moving a relation one level down: four bits per relation, the lowest
    * relation in the highest bits.
    */
  private def stepDown(relation: Int): Long = if (relation < 15) 1L << (4 * (14 - relation)) else 0L

  /** The candidate of a relation over the best trees of its subtrees, which all move one level
    * down.
    *
    * @param below the relations of the subtrees
    * @param sizes how often a relation changes, relative to the others
    * @param height the least height of the whole: that of the relation's own tree, which is at the
    *     same level, if it represents several relations
    */
  def relation(
      node: RelationNode,
      parts: IndexedSeq[Candidate],
      below: IndexedSeq[Int],
      sizes: Int => Double,
      height: Int
  ): Candidate =
    Candidate(
      math.max(height, 1 + parts.map(_.height).maxOption.getOrElse(0)),
      parts.map(_.cost).sum + below.map(sizes).sum,
      parts.map(_.generalized).sum,
      parts.map(_.tie).sum + below.map(stepDown).sum,
      node
    )

  /** The candidate of a generalized node over the best trees of its subtrees (at least one). The
    * node adds nothing to the height, which counts relations only, and so moves no relation down.
    */
  def generalized(node: GeneralizedNode, parts: IndexedSeq[Candidate]): Candidate =
    Candidate(
      parts.map(_.height).max,
      parts.map(_.cost).sum,
      1 + parts.map(_.generalized).sum,
      parts.map(_.tie).sum,
      node
    )
}

/** The candidates of a subproblem that no other dominates, by ascending height: at most one per
  * height.
  *
  * All of them are kept, not only the lowest: if a sibling is high anyway, the cheaper one wins.
  */
final private[query] case class ParetoFront private (candidates: IndexedSeq[Candidate]) {

  def best: Candidate = candidates.head
}

private[query] object ParetoFront {

  /** The front of `all`; earlier candidates win among equals. */
  def of(all: Iterable[Candidate]): ParetoFront = {
    val kept = all.foldLeft(IndexedSeq.empty[Candidate]) { (front, next) =>
      if (front.exists(_.covers(next))) front else front.filterNot(next.covers) :+ next
    }
    ParetoFront(kept.sortBy(_.height))
  }

  /** The front of the wholes that `node` makes of one candidate of each front. For each height that
    * occurs it takes, of every front, the first candidate in the order of [[Candidate]] among those
    * no higher. No other choice can be on the front of the wholes, since all measures but the
    * height are additive.
    *
    * @param node the whole over these parts, one of each front, in the order of `fronts`
    */
  def combined(fronts: IndexedSeq[ParetoFront])(node: IndexedSeq[Candidate] => Candidate): ParetoFront = {
    val heights = fronts.flatMap(_.candidates.map(_.height)).distinct.sorted
    // in a front the order falls as the height rises: the last one that is low enough is the first
    val choices =
      if (fronts.isEmpty) IndexedSeq(IndexedSeq.empty)
      else heights.map(limit => fronts.flatMap(_.candidates.findLast(_.height <= limit))).filter(_.size == fronts.size)
    of(choices.map(node))
  }
}
