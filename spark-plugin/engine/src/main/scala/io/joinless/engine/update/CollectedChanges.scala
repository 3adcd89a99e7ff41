package io.joinless.engine.update

import java.lang.Long.{bitCount, lowestOneBit, numberOfTrailingZeros}

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.RowStore

/** The changes of a batch, collected: added up per row and roles for retractable inputs ([[Net]]),
  * one by one for rows of append-only inputs. No view changes here; rows are stored.
  *
  * Entries of the net batch are numbered in the order of their first change. Each pair (relation,
  * row) whose count is not 0 holds a reference to its row. So does each absent pair of the batch,
  * until `finish` or `abandon`: so the ids of rows stay valid. Cost: one probe for the row per
  * `add`.
  */
final private[engine] class CollectedChanges(val store: RowStore) {
  private[this] val net = new Net(store.block.inputs.size)
  private[this] val inputs = store.block.relations.map(_.input).toArray
  private[this] val counts = store.block.relations.indices.map(store.multiplicities).toArray
  private[this] val lookups = new GroupedLookups(store, change(_, _, _))
  private[this] val appendedRelations = new IntStack
  private[this] val appendedRows = new IntStack
  private[this] var grows = true

  /** Number of relations. */
  def relations: Int = inputs.length

  /** The number of entries, of retractable inputs; some may have no net change. Valid for a
    * complete batch.
    */
  def size: Int = net.size

  /** The id of an entry's row, in the arena of its input. */
  def row(entry: Int): Int = net.row(entry)

  /** The relations (bit set) of an entry, all of one input. In all of them the row has the same
    * count, and the same change.
    */
  def roles(entry: Int): Long = net.roles(entry)

  /** The input of which an entry's row is. */
  def input(entry: Int): Int = inputs(numberOfTrailingZeros(net.roles(entry)))

  /** The next entry of the same row; −1 behind the last one. */
  def next(entry: Int): Int = net.next(entry)

  /** The net change of an entry, and the count before and after the batch. */
  def change(entry: Int): Long = net.change(entry)
  def before(entry: Int): Long = net.before(entry)
  def after(entry: Int): Long = Weight.add(net.before(entry), net.change(entry))

  /** Sets the count of an entry's row in all its relations to that after the batch. No view changes:
    * for rows that were and remain absent.
    */
  def setCounts(entry: Int): Unit = {
    var rolesLeft = roles(entry)
    while (rolesLeft != 0L) {
      counts(numberOfTrailingZeros(rolesLeft))(row(entry)) = after(entry)
      rolesLeft &= rolesLeft - 1
    }
  }

  /** The counts of a row in one relation before and after the batch, also of a row without changes
    * in the batch.
    */
  def before(relation: Int, row: Int): Long = {
    val entry = net.entry(inputs(relation), relation, row)
    if (entry < 0) counts(relation)(row) else before(entry)
  }

  def after(relation: Int, row: Int): Long = {
    val entry = net.entry(inputs(relation), relation, row)
    if (entry < 0) counts(relation)(row) else after(entry)
  }

  /** Whether the entry is the head of its row's chain, so that there is one per row, and the row
    * has a net change in some relation.
    */
  def isRowsFirst(entry: Int): Boolean = net.first(input(entry), row(entry)) == entry && {
    var e = entry
    while (e >= 0 && net.change(e) == 0L) e = net.next(e)
    e >= 0
  }

  /** The number of pairs (relation, row) of append-only inputs; the roles of a row are consecutive.
    */
  def appends: Int = appendedRows.size
  def appendedRelation(i: Int): Int = appendedRelations(i)
  def appendedRow(i: Int): Int = appendedRows(i)

  /** Adds a change of the relations `roles` (bit set), all of them roles of `input`: `weight`
    * copies of the row in `words`.
    */
  def add(input: Int, roles: Long, weight: Long, words: Array[Long], count: Int): Unit = {
    if (store.identity(input) != null) lookups.add(input, roles, weight, words, count)
    else {
      require(weight == 1L, "rows of an append-only input are inserted one by one")
      val row = store.arena(input).append(words, 0, count)
      var rolesLeft = roles
      while (rolesLeft != 0) {
        appendedRelations.push(numberOfTrailingZeros(rolesLeft))
        appendedRows.push(row)
        rolesLeft &= rolesLeft - 1
      }
    }
  }

  /** Completes the batch after all changes were added. */
  def complete(): Unit = lookups.complete()

  /** Adds a change of a stored row. Roles that have no entry yet get one for each count. */
  private def change(row: Int, roles: Long, weight: Long): Unit = {
    if (weight <= 0L) grows = false
    var rolesLeft = net.add(inputs(numberOfTrailingZeros(roles)), row, roles, weight)
    while (rolesLeft != 0L) rolesLeft = open(row, rolesLeft, weight)
  }

  /** Opens an entry for the roles that have the same count as the first one. Returns the other
    * roles.
    */
  private def open(row: Int, roles: Long, weight: Long): Long = {
    val first = numberOfTrailingZeros(roles)
    val before = counts(first)(row)
    var sameCount = roles
    var others = roles & roles - 1
    while (others != 0L) {
      if (counts(numberOfTrailingZeros(others))(row) != before) sameCount &= ~lowestOneBit(others)
      others &= others - 1
    }
    net.open(inputs(first), row, sameCount, before, weight)
    if (before == 0) store.identity(inputs(first)).retain(row, bitCount(sameCount))
    if (before < 0L) grows = false
    roles & ~sameCount
  }

  /** Whether each changed row has a larger count than before, and had no negative count: no change
    * is refused, and no row is deleted.
    */
  def onlyGrows: Boolean = grows

  /** The reason why a batch with this entry is refused; null if it is not.
    *
    * @param negatives absent rows may be deleted
    */
  def refusal(entry: Int, before: Long, after: Long, negatives: Boolean): DeleteOfAbsentRow =
    if (after < 0 && change(entry) < 0 && !negatives) deleteOfAbsentRow(entry, before) else null

  /** The refusal of an entry, with its lowest relation and the words of its row. */
  private def deleteOfAbsentRow(entry: Int, countBefore: Long): DeleteOfAbsentRow = {
    val arena = store.arena(input(entry))
    val row = net.row(entry)
    val words = (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i))
    new DeleteOfAbsentRow(numberOfTrailingZeros(roles(entry)), words, countBefore, net.change(entry))
  }

  /** Ends a batch that was applied: releases the references of pairs whose count is now 0. A pair
    * that had no reference before and has a count now keeps the batch's reference as its own.
    */
  def finish(): Unit = {
    var e = if (onlyGrows) net.size else 0 // inserted rows keep their reference
    while (e < net.size) {
      if (net.before(e) + net.change(e) == 0) release(e)
      e += 1
    }
    clear()
  }

  /** Ends a batch that is refused and of which nothing was applied: frees the rows that it stored.
    * The engine can continue as if the batch had not been added; in Spark the task fails, and
    * discards the tree.
    */
  def abandon(): Unit = {
    var i = 0
    while (i < appendedRows.size) {
      // the roles of a row are consecutive; rows of different inputs may have the same id
      def inputAt(i: Int) = store.block.relations(appendedRelations(i)).input
      val alreadyFreed = i > 0 && appendedRows(i) == appendedRows(i - 1) && inputAt(i) == inputAt(i - 1)
      if (!alreadyFreed) DeletedRows.free(store, inputAt(i), appendedRows(i))
      i += 1
    }
    var e = 0
    while (e < net.size) { if (net.before(e) == 0) release(e); e += 1 }
    clear()
  }

  /** Empties the batch. */
  private def clear(): Unit = {
    net.clear(inputs)
    grows = true
    appendedRelations.clear()
    appendedRows.clear()
  }

  /** Releases the references of an entry's pairs to their row. */
  private def release(entry: Int): Unit =
    DeletedRows.release(store, input(entry), net.row(entry), bitCount(net.roles(entry)))
}
