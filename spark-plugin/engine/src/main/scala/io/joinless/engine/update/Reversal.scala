package io.joinless.engine.update

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.{IntStack, PagedLongs}
import io.joinless.engine.view.{RowStore, ViewTree}

/** A record of a batch's changes to the state of a block, to roll it back. After the rollback the
  * state has the rows from before the batch, with the views of these. Costs as much as deleting and
  * inserting as many rows; no results are enumerated.
  *
  * Appended rows are deleted last first. So each list removes the tuple that was pushed last, and
  * the lists of append-only trees need no slots for removal. Of a row whose count changed the
  * content is kept, since its id may have been reused by then. Ids of rows and the order in lists
  * may differ from before.
  *
  * @param remove deletes a row of an append-only input from a relation
  * @param inverse creates a batch that may lead to negative multiplicities: those that existed
  *     before
  */
final class Reversal private[engine] (store: RowStore, remove: (Int, Int) => Unit, inverse: () => NettedBatch)
    extends ChangeRecord {

  def this(tree: ViewTree) =
    this(tree, new Forgetting(tree), () => new ChangeBatch(tree, IndexedSeq.empty, negatives = true))

  /** Copies of the rows whose counts change. A caller that records more about such a row right
    * afterwards shares its copy.
    */
  val copies = new RowCopies(store)
  private[this] val block = store.block
  private[this] val insertedRows = new IntStack
  // bit sets: the lower 32 bits; with more relations, also the upper 32 bits
  private[this] val insertedRoles = new IntStack
  private[this] val wide = block.relations.size > 32
  private[this] val changedCopies = new IntStack
  private[this] val changedRoles = new PagedLongs
  private[this] val changes = new PagedLongs

  /** Records an insertion. If it is the same row as before, in another relation of its input, the
    * role is added to that row's roles.
    */
  override def inserted(relation: Int, row: Int): Unit = {
    val role = 1L << relation
    if (insertedRows.isEmpty || insertedRows(insertedRows.size - 1) != row) pushRow(row, role)
    else {
      val roles = popRoles()
      // rows of different inputs may have the same id
      if (block.inputOf(roles) == block.relations(relation).input) pushRoles(roles | role)
      else { pushRoles(roles); pushRow(row, role) }
    }
  }

  private def pushRow(row: Int, roles: Long): Unit = {
    insertedRows.push(row)
    pushRoles(roles)
  }

  /** Pushes a bit set of relations, as one int or two. */
  private def pushRoles(roles: Long): Unit = {
    insertedRoles.push(roles.toInt)
    if (wide) insertedRoles.push((roles >>> 32).toInt)
  }

  /** Takes the last bit set of relations off, of one int or two. */
  private def popRoles(): Long = {
    val upper = if (wide) insertedRoles.pop().toLong << 32 else 0L
    upper | (insertedRoles.pop() & 0xffffffffL)
  }

  /** Records a change of a count, with a copy of the row: its id may be reused before the rollback.
    */
  override def changed(roles: Long, row: Int, change: Long): Unit = {
    val at = changedCopies.size
    changedCopies.push(copies.add(block.inputOf(roles), row))
    changedRoles(at) = roles
    changes(at) = change
  }

  /** Rolls back all recorded changes. The state must hold them, and no later ones. Called once.
    *
    * @throws io.joinless.engine.algebra.WeightOverflow the state must then be discarded
    */
  def undo(): Unit = {
    removeRows()
    if (changedCopies.size > 0) invertChanges()
  }

  /** Deletes the inserted rows, the last one first, each from its highest relation first. */
  private def removeRows(): Unit = {
    while (!insertedRows.isEmpty) {
      val row = insertedRows.pop()
      val roles = popRoles()
      var rolesLeft = roles
      while (rolesLeft != 0) {
        val relation = 63 - java.lang.Long.numberOfLeadingZeros(rolesLeft)
        remove(relation, row)
        rolesLeft &= ~(1L << relation)
      }
      DeletedRows.free(store, block.inputOf(roles), row)
    }
  }

  /** Applies the opposite of all changed counts, as one batch. */
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
    insertedRoles.bytes + insertedRows.bytes + changedRoles.bytes + changedCopies.bytes + changes.bytes + copies.bytes
}
