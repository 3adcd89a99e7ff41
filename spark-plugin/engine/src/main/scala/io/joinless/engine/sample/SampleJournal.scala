package io.joinless.engine.sample

import io.joinless.engine.tuples.{IntStack, PagedLongs}
import io.joinless.engine.update.RowCopies
import io.joinless.engine.view.RowStore

/** What a batch did to a sample, to roll it back: the copies that left, with the content of
  * their rows, since ids of rows may be reused by then; and the slots of those that entered.
  */
final class SampleJournal(sample: KeptSample, store: RowStore) {
  private[this] val relations = store.block.relations.size
  private[this] val rows = new RowCopies(store)
  private[this] val added = new IntStack
  private[this] val removed = new IntStack
  private[this] val keys = new PagedLongs
  private[this] val copiesOfRows = new IntStack
  private[this] val copies = new PagedLongs

  /** Records the pending batch, which was applied and is not settled yet. */
  private[sample] def note(): Unit = {
    sample.foreachAdded(added.push(_))
    sample.foreachRemoved { slot =>
      keys(removed.size) = java.lang.Double.doubleToRawLongBits(sample.key(slot))
      removed.push(slot)
      for (r <- 0 until relations) {
        copies(copiesOfRows.size) = sample.copy(slot, r)
        copiesOfRows.push(rows.add(store.block.relations(r).input, sample.row(slot, r)))
      }
    }
  }

  /** Rolls the sample back, after the rows were. Called once. */
  def undo(): Unit = {
    val entered = (0 until added.size).map(added(_)).toSet
    sample.removeAll(entered)
    sample.settle()
    val (rowOf, copyOf) = (new Array[Int](relations), new Array[Long](relations))
    for (i <- 0 until removed.size) {
      for (r <- 0 until relations) {
        val input = store.block.relations(r).input
        val copy = copiesOfRows(i * relations + r)
        rowOf(r) = store.find(input, rows.content(input, copy), rows.words(input, copy))
        copyOf(r) = copies(i * relations + r)
      }
      sample.restore(removed(i), java.lang.Double.longBitsToDouble(keys(i)), rowOf, copyOf)
    }
    sample.restored()
  }

  def bytes: Long = rows.bytes + added.bytes + removed.bytes + keys.bytes + copiesOfRows.bytes + copies.bytes
}
