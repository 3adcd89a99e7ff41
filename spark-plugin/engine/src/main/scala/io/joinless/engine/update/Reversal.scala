package io.joinless.engine.update

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.{IntStack, PagedLongs}
import io.joinless.engine.view.{RowStore, ViewTree}

/** What a batch did to the state of a block, noted so that it can be taken back: then it holds the rows from before, with the views
  * that belong to them. Costs what deleting and inserting as many rows costs; no results are enumerated.
  *
  * Rows that were appended go last first: so each list loses what it got last, and lists of trees that are only appended to
  * need no places to remove from. Of a row whose count changed the content is kept, since its id may be another's by then.
  * Ids of rows and the order in lists may differ from before.
  *
  * @param remove takes a row of an append-only input out of a relation
  * @param inverse a batch of the state, which may owe rows: what is owed was owed before
  */
final class Reversal private[engine] (store: RowStore, remove: (Int, Int) => Unit, inverse: () => NettedBatch) {

  def this(tree: ViewTree) =
    this(tree, new Forgetting(tree), () => new ChangeBatch(tree, IndexedSeq.empty, owe = true))

  /** The rows whose counts change; whoever notes more of such a row right afterwards shares its copy. */
  val copies = new RowCopies(store)
  private[this] val block = store.block
  private[this] val cameRows = new IntStack
  private[this] val cameRoles = new IntStack // as bits: the lower ones, and where there are more, the upper ones
  private[this] val wide = block.relations.size > 32
  private[this] val changedCopies = new IntStack
  private[this] val changedRoles = new PagedLongs
  private[this] val changes = new PagedLongs

  /** A row of an append-only input became one of `relation`. The roles of a row are told one after the other. */
  def came(relation: Int, row: Int): Unit = {
    val role = 1L << relation
    if (cameRows.isEmpty || cameRows(cameRows.size - 1) != row) pushRow(row, role)
    else {
      val roles = popRoles()
      if (block.inputOf(roles) == block.relations(relation).input) pushRoles(roles | role)
      else { pushRoles(roles); pushRow(row, role) }
    }
  }

  private def pushRow(row: Int, roles: Long): Unit = {
    cameRows.push(row)
    pushRoles(roles)
  }

  private def pushRoles(roles: Long): Unit = {
    cameRoles.push(roles.toInt)
    if (wide) cameRoles.push((roles >>> 32).toInt)
  }

  private def popRoles(): Long = {
    val upper = if (wide) cameRoles.pop().toLong << 32 else 0L
    upper | (cameRoles.pop() & 0xffffffffL)
  }

  /** The count of a retractable input's row in some of its relations (bit set) changes by `change`. */
  def changed(roles: Long, row: Int, change: Long): Unit = {
    val at = changedCopies.size
    changedCopies.push(copies.add(block.inputOf(roles), row))
    changedRoles(at) = roles
    changes(at) = change
  }

  /** Takes everything back that was told, which the state must hold, and nothing that came later. To be called once.
    *
    * @throws io.joinless.engine.algebra.WeightOverflow the state must be given up then
    */
  def undo(): Unit = {
    removeRows()
    if (changedCopies.size > 0) invertChanges()
  }

  private def removeRows(): Unit = {
    while (!cameRows.isEmpty) {
      val row = cameRows.pop()
      val roles = popRoles()
      var left = roles
      while (left != 0) {
        val relation = 63 - java.lang.Long.numberOfLeadingZeros(left)
        remove(relation, row)
        left &= ~(1L << relation)
      }
      GoneRows.free(store, block.inputOf(roles), row)
    }
  }

  private def invertChanges(): Unit = {
    val batch = inverse()
    for (e <- 0 until changedCopies.size) {
      val input = block.inputOf(changedRoles(e))
      val copy = changedCopies(e)
      val change = Weight.subtract(0L, changes(e))
      batch.add(input, changedRoles(e), change, copies.content(input, copy), copies.words(input, copy))
    }
    batch.drain()
  }

  def bytes: Long =
    cameRoles.bytes + cameRows.bytes + changedRoles.bytes + changedCopies.bytes + changes.bytes + copies.bytes
}
