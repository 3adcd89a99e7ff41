package io.joinless.engine.update

import io.joinless.engine.tuples.{IntStack, PagedBytes}

/** The rows that a batch replaces under keys that stay in V_p, each marked as inserted or deleted.
  * One byte per row id up to the largest, as long as the batch lives.
  */
final private[update] class Replacements(relations: Int) {
  private[this] val marks = new Array[PagedBytes](relations)
  private[this] val marked = new IntStack // relation, row

  def isEmpty: Boolean = marked.isEmpty

  /** Marks a row in the relations `among` (bit set) as `what`: `Inserted` or `Deleted`. */
  def mark(among: Long, row: Int, what: Int): Unit = {
    var relationsLeft = among
    while (relationsLeft != 0L) {
      val relation = java.lang.Long.numberOfTrailingZeros(relationsLeft)
      if (marks(relation) == null) marks(relation) = new PagedBytes
      marks(relation)(row) = what
      marked.push(relation)
      marked.push(row)
      relationsLeft &= relationsLeft - 1
    }
  }

  /** Whether some row of the combination `rows`, one per relation, is marked `what` (`Inserted` or
    * `Deleted`). Only the relations `among` (bit set) have marks.
    */
  def meet(what: Int, among: Long, rows: Array[Int]): Boolean = {
    var relationsLeft = among
    while (relationsLeft != 0) {
      val r = java.lang.Long.numberOfTrailingZeros(relationsLeft)
      if (marks(r)(rows(r)) == what) return true
      relationsLeft &= relationsLeft - 1
    }
    false
  }

  /** Removes all marks. */
  def clear(): Unit = while (!marked.isEmpty) {
    val row = marked.pop()
    marks(marked.pop())(row) = Replacements.None
  }
}

private[update] object Replacements {
  final val None = 0
  final val Inserted = 1
  final val Deleted = 2
}
