package io.joinless.engine.enumerate

import io.joinless.engine.algebra.{DeleteOfAbsentRow, Net}
import io.joinless.engine.tuples.IntStack
import io.joinless.engine.view.ViewTree

/** A batch of signed changes: netted, then all deletions, then changes of multiplicity, then all insertions (A.7, D6).
  *
  * {{{
  * changes.foreach(c => batch.add(c.input, c.roles, c.weight, c.words, c.words.length))
  * while (batch.next()) emit(batch.rows, batch.weight)
  * }}}
  *
  * Without multiplicities above 1 no result is both gained and lost in a batch; with them a result's changes must be
  * added up by whoever needs them net. `next` is to be drained before the next batch. A batch that deletes an absent row
  * fails as a whole, before anything is applied.
  */
final class ChangeBatch(tree: ViewTree, residuals: IndexedSeq[Residual]) {
  private[this] val block = tree.block
  private[this] val delta = new DeltaEnumeration(tree, residuals)
  private[this] val net = new Net(block.relations.size)
  private[this] val appendedRelations = new IntStack
  private[this] val appendedRows = new IntStack

  private[this] val deletions = new IntStack // entries of the net
  private[this] val reweighings = new IntStack
  private[this] val insertions = new IntStack
  private[this] var prepared = false
  private[this] var position = 0

  val rows: Array[Int] = delta.rows
  def changed: Long = delta.changed
  def weight: Long = delta.weight

  /** A change of the relations `roles` (bit set), all of them roles of `input`: `weight` copies of the row in `words`. */
  def add(input: Int, roles: Long, weight: Long, words: Array[Long], count: Int): Unit = {
    require(!prepared, "the results of the batch before are not drained")
    require(roles != 0L, "a change concerns at least one relation")
    val identity = tree.identity(input)
    if (identity == null) {
      require(weight == 1L, "rows of an append-only input come one by one")
      val row = tree.arena(input).append(words, 0, count)
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

  def next(): Boolean = {
    if (!prepared) prepare()
    while (!delta.next()) if (!applyNext()) { complete(); return false }
    true
  }

  /** Sorts the net changes by what they do; every pair that was present holds one more reference to its row. */
  private def prepare(): Unit = {
    var e = 0
    while (e < net.size) {
      val node = tree.relation(net.relation(e))
      val before = node.multiplicity(net.row(e))
      val after = Math.addExact(before, net.change(e))
      if (after < 0) {
        val failure = absent(e, before)
        abandon()
        throw failure
      }
      if (before == 0 && after > 0) insertions.push(e)
      else if (before > 0 && after == 0) deletions.push(e)
      else if (before != after) reweighings.push(e)
      e += 1
    }
    prepared = true
    position = 0
  }

  private def absent(entry: Int, present: Long): DeleteOfAbsentRow = {
    val arena = tree.relation(net.relation(entry)).arena
    val row = net.row(entry)
    val words = (0 until arena.words(row)).map(i => arena.page(row)(arena.start(row) + i))
    new DeleteOfAbsentRow(net.relation(entry), words, present, net.change(entry))
  }

  /** Starts the next change, in the order of the phases; false where there is none. */
  private def applyNext(): Boolean = {
    val d = deletions.size
    val p = d + reweighings.size
    val i = p + insertions.size
    val at = position
    position += 1
    if (at < d) delta.delete(net.relation(deletions(at)), net.row(deletions(at)))
    else if (at < p) {
      val e = reweighings(at - d)
      delta.reweigh(
        net.relation(e),
        net.row(e),
        tree.relation(net.relation(e)).multiplicity(net.row(e)) + net.change(e)
      )
    } else if (at < i) {
      val e = insertions(at - p)
      delta.insert(net.relation(e), net.row(e), net.change(e))
    } else if (at < i + appendedRows.size) delta.insert(appendedRelations(at - i), appendedRows(at - i))
    else return false
    true
  }

  /** Gives back the references that the batch held, and those of rows that are gone. */
  private def complete(): Unit = {
    var e = 0
    while (e < insertions.size) { retain(insertions(e)); e += 1 }
    e = 0
    while (e < deletions.size) { release(deletions(e)); e += 1 }
    releaseEntries()
    prepared = false
  }

  private def abandon(): Unit = {
    var i = 0
    while (i < appendedRows.size) {
      // the roles of a row stand together; rows of different inputs may have the same id
      val arena = tree.relation(appendedRelations(i)).arena
      val again =
        i > 0 && appendedRows(i) == appendedRows(i - 1) && (tree.relation(appendedRelations(i - 1)).arena eq arena)
      if (!again) arena.free(appendedRows(i))
      i += 1
    }
    releaseEntries()
  }

  private def releaseEntries(): Unit = {
    var e = 0
    while (e < net.size) { release(e); e += 1 }
    net.clear()
    deletions.clear(); reweighings.clear(); insertions.clear()
    appendedRelations.clear(); appendedRows.clear()
  }

  private def retain(entry: Int): Unit = tree.identity(tree.relation(net.relation(entry)).input).retain(net.row(entry))

  private def release(entry: Int): Unit = {
    val _ = tree.identity(tree.relation(net.relation(entry)).input).release(net.row(entry))
  }
}
