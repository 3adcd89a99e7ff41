package io.joinless.engine.update

import io.joinless.engine.view.ViewTree

/** Takes rows out of the relations of a view tree without telling which results go with them: rows that can be part of no further
  * result, and rows of a batch that is taken back.
  *
  * Cost: that of a deletion whose results are not enumerated ([[DeltaEnumeration]]). The row stays in its arena until whoever knows
  * that no relation has it any more frees it. Where rows do not leave last first, the tree's block must say that it `forgets`.
  */
final class Forgetting(tree: ViewTree) extends ((Int, Int) => Unit) {
  private[this] lazy val delta = new DeltaEnumeration(tree, IndexedSeq.empty)

  /** `row`, which is one of `relation`, is so no longer. */
  override def apply(relation: Int, row: Int): Unit = {
    delta.delete(relation, row)
    delta.complete()
  }
}
