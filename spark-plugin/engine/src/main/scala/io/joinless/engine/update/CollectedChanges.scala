package io.joinless.engine.update

import io.joinless.engine.algebra.Weight
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.RowStore

/** The changes of a batch, collected: added up per (relation, row) of retractable inputs, one by one for rows of append-only
  * inputs. No view changes here; rows are stored.
  *
  * Entries of the net are numbered in the order of their first change. Every pair whose count is not 0 holds a reference to
  * its row, and so does every pair of the batch, from `add` until `settle` or `abandon`: so the ids of rows stay.
  * Cost: one probe for the row per `add`.
  */
final private[engine] class CollectedChanges(val store: RowStore) {
  private[this] val net = new Net(store.block.relations.size)
  private[this] val appendedRelations = new IntStack
  private[this] val appendedRows = new IntStack

  /** Number of relations. */
  def relations: Int = store.block.relations.size

  /** Number of pairs (relation, row) of retractable inputs; some may have no net change. */
  def size: Int = net.size
  def relation(entry: Int): Int = net.relation(entry)
  def row(entry: Int): Int = net.row(entry)
  def change(entry: Int): Long = net.change(entry)
  def change(relation: Int, row: Int): Long = net.change(relation, row)
  def input(entry: Int): Int = store.block.relations(net.relation(entry)).input

  /** Of the entries of one row that have a net change, the one with the first relation. */
  def isRowsFirst(entry: Int): Boolean = change(entry) != 0L && {
    val relations = store.block.relationsOf(input(entry))
    var i = 0
    while (change(relations(i), row(entry)) == 0L) i += 1
    relations(i) == relation(entry)
  }

  /** Number of pairs (relation, row) of append-only inputs; the roles of a row stand together. */
  def appends: Int = appendedRows.size
  def appendedRelation(i: Int): Int = appendedRelations(i)
  def appendedRow(i: Int): Int = appendedRows(i)

  /** Counts of the row in the relation before and after the batch, as long as its change is not applied. */
  def before(relation: Int, row: Int): Long = store.multiplicity(relation, row)
  def after(relation: Int, row: Int): Long = Weight.add(before(relation, row), net.change(relation, row))

  /** A change of the relations `roles` (bit set), all of them roles of `input`: `weight` copies of the row in `words`. */
  def add(input: Int, roles: Long, weight: Long, words: Array[Long], count: Int): Unit = {
    val identity = store.identity(input)
    if (identity == null) {
      require(weight == 1L, "rows of an append-only input come one by one")
      val row = store.arena(input).append(words, 0, count)
      foreachRole(roles) { r => appendedRelations.push(r); appendedRows.push(row) }
    } else {
      val row = identity.findOrAdd(words, count)
      foreachRole(roles)(r => if (net.add(r, row, weight)) identity.retain(row))
    }
  }

  @inline private def foreachRole(roles: Long)(f: Int => Unit): Unit = {
    var left = roles
    while (left != 0) {
      f(java.lang.Long.numberOfTrailingZeros(left))
      left &= left - 1
    }
  }

  /** Why a batch with this entry is refused; null where it is not.
    *
    * @param owe absent rows may be deleted
    */
  def refusal(entry: Int, before: Long, after: Long, owe: Boolean): DeleteOfAbsentRow =
    if (after < 0 && change(entry) < 0 && !owe) absent(entry, before) else null

  private def absent(entry: Int, present: Long): DeleteOfAbsentRow = {
    val arena = store.arena(input(entry))
    val row = net.row(entry)
    val words = (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i))
    new DeleteOfAbsentRow(net.relation(entry), words, present, net.change(entry))
  }

  /** Ends a batch that was applied: gives back the references that it held and those of rows that are gone. */
  def settle(): Unit = {
    var e = 0
    while (e < net.size) {
      val after = store.multiplicity(relation(e), row(e))
      val before = after - net.change(e)
      if (before == 0 && after != 0) retain(e)
      if (before != 0 && after == 0) release(e)
      e += 1
    }
    clear()
  }

  /** Ends a batch that is refused, of which nothing was applied: frees the rows that it stored. The engine can go on as if it had not
    * come; a task of Spark fails then, and gives the tree up.
    */
  def abandon(): Unit = {
    var i = 0
    while (i < appendedRows.size) {
      // the roles of a row stand together; rows of different inputs may have the same id
      def inputAt(i: Int) = store.block.relations(appendedRelations(i)).input
      val again = i > 0 && appendedRows(i) == appendedRows(i - 1) && inputAt(i) == inputAt(i - 1)
      if (!again) store.arena(inputAt(i)).free(appendedRows(i))
      i += 1
    }
    clear()
  }

  private def clear(): Unit = {
    var e = 0
    while (e < net.size) { release(e); e += 1 }
    net.clear()
    appendedRelations.clear()
    appendedRows.clear()
  }

  private def retain(entry: Int): Unit = store.identity(input(entry)).retain(net.row(entry))

  private def release(entry: Int): Unit = {
    val _ = store.identity(input(entry)).release(net.row(entry))
  }
}
