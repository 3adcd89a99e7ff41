package io.joinless.engine.update

import io.joinless.engine.view.ViewTree

/** Deletes rows from the relations of a view tree without emitting the results deleted with them:
  * rows that can be part of no further result, and rows of a batch that is rolled back.
  *
  * Cost: that of a deletion whose results are not enumerated ([[DeltaEnumeration]]). The row stays
  * in its arena; the caller must free it when no relation has it any more. If rows are not deleted
  * last first, the tree's block must say that it `forgets`.
  */
final class Forgetting(tree: ViewTree) extends ((Int, Int) => Unit) {
  private[this] lazy val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
  private[this] lazy val annotations = new TreeAnnotations(tree)

  /** Deletes `row` from `relation`. */
  override def apply(relation: Int, row: Int): Unit = {
    delta.delete(relation, row)
    delta.complete()
    if (tree.aggregates.isDefined) {
      annotations.change(relation, row, 1L, 0L)
      annotations.update()
      annotations.finish()
    }
  }
}
