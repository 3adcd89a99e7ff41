package io.joinless.engine.positions

import io.joinless.engine.view.ViewTree

/** The complete result of a tree as a sequence: how long it is, and the results at given positions
  * (algorithms A59).
  *
  * A result with the multiplicity m takes m positions. The order depends on the rows alone, not on
  * their history, so a position is the same result in a live tree, a rebuilt one and one that was
  * rolled back. With residual conditions the sequence contains combinations that these reject; so
  * its length is an upper bound, and the caller drops what is rejected.
  *
  * The tree must not change meanwhile. Several readers may read it at the same time, each with its
  * own instance.
  */
final class Positions(tree: ViewTree) {
  require(!tree.block.isBag, "the results of a bag have no positions")
  private[this] val counts = new SubtreeCounts(tree)
  private[this] val descent = new Descent(tree, new AllResults(counts))

  /** The number of positions. */
  def total: BigInt = counts.total.toBigInt

  /** The results of the next chunk of positions, which are below `total`; none after the last one.
    */
  def next(chosen: ChosenPositions): Located = descent.locate(0, chosen.next())

  def bytes: Long = counts.bytes
}
