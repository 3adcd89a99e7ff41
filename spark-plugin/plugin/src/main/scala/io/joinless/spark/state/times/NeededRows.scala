package io.joinless.spark.state.times

import io.joinless.engine.tuples.{IntStack, PagedBytes}
import io.joinless.engine.update.DeletedRows
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.{BlockSpec, Roles}
import io.joinless.spark.state.Rollback

/** The watermarks until which the rows of a cell are needed, if rows are evicted. Kept with the
  * cell's views, and computed anew when these are rebuilt.
  *
  * {{{
  * batch 7:   settle(…)     completes batch 6: rows that are not needed are removed from their
  *                          relations, times of new rows are added to the wheels
  *            inserted(…)   for each new row
  *            advance(W)    finds the rows that are needed no longer; they are not removed yet
  * }}}
  * So a batch can be rolled back (`rollBack`): it has not yet changed the rows of earlier batches.
  *
  * Memory: 12 bytes for each row and role whose time ends, and a byte for each row; 16 bytes for
  * each role of a row that was inserted or evicted in the last batch.
  */
final private[spark] class NeededRows(spec: BlockSpec) extends Rollback {
  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val times = new RowTimes(spec.relations.indices.map(lifetimes.ends))
  private[this] val roles = spec.inputs.map(_ => new PagedBytes).toArray // of a row: number of roles that need it
  private[this] val inputOf = spec.relations.map(_.input).toArray

  // the last batch: roles that ended of rows from before; rows without any left
  private[this] val endedRelations = new IntStack
  private[this] val endedRows = new IntStack
  private[this] val evictedInputs = new IntStack
  private[this] val evictedRows = new IntStack
  private[this] var watermark = Long.MinValue

  /** Number of rows that the last batch found to be needed no longer. They are stored until the
    * next one.
    */
  def evicted: Long = evictedRows.size.toLong

  /** Completes the last batch: calls `forget` with each relation and row that is needed no longer,
    * then frees rows that no relation needs. The batch cannot be rolled back any more.
    */
  def settle(views: RowStore, forget: (Int, Int) => Unit): Unit = {
    each(endedRows)(i => forget(endedRelations(i), endedRows(i)))
    times.eachInserted { (relation, row, until) =>
      if (until <= watermark) forget(relation, row) else times.put(relation, row, until)
    }
    each(evictedRows)(i => DeletedRows.free(views, evictedInputs(i), evictedRows(i)))
    clear()
  }

  /** A row was inserted, with these roles. */
  def inserted(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    var rolesLeft = roles
    while (rolesLeft != 0L) {
      val relation = Roles.first(rolesLeft)
      if (times.has(relation)) times.inserted(relation, row, lifetimes.until(relation, base, offset, bytes))
      rolesLeft = Roles.rest(rolesLeft)
    }
    this.roles(inputOf(Roles.first(roles)))(row) = java.lang.Long.bitCount(roles)
  }

  /** The batch ends with this watermark: the roles end in which a row is needed no longer. Those of
    * rows from before are noted, so that they can be put back.
    */
  def advance(watermark: Long): Unit = {
    this.watermark = watermark
    times.advance(watermark) { (relation, row) =>
      endedRelations.push(relation)
      endedRows.push(row)
      endRole(relation, row)
    }
    times.eachInserted((relation, row, until) => if (until <= watermark) endRole(relation, row))
  }

  /** The relation needs the row no longer. If no other relation does, the row is evicted: it is
    * noted here, and freed by `settle`.
    */
  private def endRole(relation: Int, row: Int): Unit = {
    val input = inputOf(relation)
    val rolesLeft = roles(input)(row) - 1
    roles(input)(row) = rolesLeft
    if (rolesLeft == 0) {
      evictedInputs.push(input)
      evictedRows.push(row)
    }
  }

  /** The rows that the batch inserted are in the views no more. */
  override def rollBack(views: RowStore): Unit = {
    each(endedRows) { i =>
      val relation = endedRelations(i)
      val rolesOfRows = roles(inputOf(relation))
      rolesOfRows(endedRows(i)) = rolesOfRows(endedRows(i)) + 1
      times.put(relation, endedRows(i), watermark) // it ends again when the batch is run again
    }
    clear()
  }

  /** The least watermark at which a row is needed no longer; the greatest long if there is none. */
  def next: Long = times.next(watermark)

  def bytes: Long =
    times.bytes + roles.iterator.map(_.bytes).sum + endedRelations.bytes + endedRows.bytes + evictedInputs
      .bytes + evictedRows.bytes

  /** Forgets the last batch. */
  private def clear(): Unit = {
    times.clear()
    endedRelations.clear()
    endedRows.clear()
    evictedInputs.clear()
    evictedRows.clear()
  }

  /** Calls `f` with each position of a stack, from the bottom. */
  @inline private def each(stack: IntStack)(f: Int => Unit): Unit = {
    var i = 0
    while (i < stack.size) { f(i); i += 1 }
  }
}
