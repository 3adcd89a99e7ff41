package io.joinless.engine.update

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.{IntStack, PagedLongs}
import io.joinless.engine.view.ViewTree

/** What a batch did to a view tree, noted so that it can be taken back: then the tree holds the rows from before, with the views
  * that belong to them. Costs what deleting and inserting as many rows costs; no results are enumerated.
  *
  * Rows that were appended go last first: so each list loses what it got last, and lists of trees that are only appended to
  * need no places to remove from. Of a row whose count changed the content is kept, since its id may be another's by then.
  * Ids of rows and the order in lists may differ from before.
  */
final class Reversal(tree: ViewTree) {

  /** The rows whose counts change; whoever notes more of such a row right afterwards shares its copy. */
  val copies = new RowCopies(tree)
  private[this] val block = tree.block
  private[this] val cameRows = new IntStack
  private[this] val cameRoles = new IntStack // as bits: the lower ones, and where there are more, the upper ones
  private[this] val wide = block.relations.size > 32
  private[this] val changedRelations = new IntStack
  private[this] val changedCopies = new IntStack
  private[this] val changes = new PagedLongs

  /** A row of an append-only input became one of `relation`. The roles of a row are told one after the other. */
  def came(relation: Int, row: Int): Unit = {
    val role = 1L << relation
    if (cameRows.isEmpty || cameRows(cameRows.size - 1) != row) pushRow(row, role)
    else {
      val roles = popRoles()
      if (inputOf(roles) == block.relations(relation).input) pushRoles(roles | role)
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

  private def inputOf(roles: Long): Int = block.relations(java.lang.Long.numberOfTrailingZeros(roles)).input

  /** The count of a retractable input's row in `relation` changes by `change`. */
  def changed(relation: Int, row: Int, change: Long): Unit = {
    changedRelations.push(relation)
    changedCopies.push(copies.add(block.relations(relation).input, row))
    changes(changedRelations.size - 1) = change
  }

  /** Takes everything back that was told, which the tree must hold, and nothing that came later. To be called once.
    *
    * @throws io.joinless.engine.algebra.WeightOverflow the tree must be given up then
    */
  def undo(): Unit = {
    removeRows()
    if (changedRelations.size > 0) invertChanges()
  }

  private def removeRows(): Unit = {
    val delta = new DeltaEnumeration(tree, IndexedSeq.empty)
    while (!cameRows.isEmpty) {
      val row = cameRows.pop()
      val roles = popRoles()
      var left = roles
      while (left != 0) {
        val relation = 63 - java.lang.Long.numberOfLeadingZeros(left)
        delta.delete(relation, row)
        left &= ~(1L << relation)
      }
      delta.complete()
      tree.arena(inputOf(roles)).free(row)
    }
  }

  private def invertChanges(): Unit = {
    // what is owed was owed before
    val inverse = new ChangeBatch(tree, IndexedSeq.empty, owe = true)
    for (e <- 0 until changedRelations.size) {
      val relation = changedRelations(e)
      val input = block.relations(relation).input
      val copy = changedCopies(e)
      val change = Weight.subtract(0L, changes(e))
      inverse.add(input, 1L << relation, change, copies.content(input, copy), copies.words(input, copy))
    }
    inverse.drain()
  }

  def bytes: Long =
    cameRoles.bytes + cameRows.bytes + changedRelations.bytes + changedCopies.bytes + changes.bytes + copies.bytes
}
