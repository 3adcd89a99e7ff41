package io.joinless.spark.state.times

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.RowCopies
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec
import io.joinless.spark.state.{Rollback, RowWords}

/** The times at which rows of a cell expire. Kept with the cell's views, and computed anew when
  * these are rebuilt.
  *
  * As in [[NeededRows]], the rows of the last batch are in no wheel until the batch is final: they
  * are dropped if it is rolled back. Rows deleted in the last batch are kept as copies until then,
  * since a row that is restored has another id.
  *
  * Each present row is in the wheel of its relation, at its time. A row that a changelog deletes
  * before its time stays in the wheel, and its id may be another row's by then. So [[isDue]] and
  * [[next]] read the row. If the wheels hold too many times of deleted rows, they are filled anew.
  *
  * Memory: 12 bytes for each row and role, up to twice that with a changelog; the copies of rows
  * that were deleted in the last batch.
  */
final private[spark] class ExpiringRows(spec: BlockSpec) extends Rollback {
  import ExpiringRows._

  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val inputOf = spec.relations.map(_.input).toArray
  private[this] val deletes = inputOf.map(spec.inputs(_).kind.signed)
  private[this] val times = new RowTimes(spec.relations.map(r => spec.inputs(r.input).kind.expires))

  // rows that the last batch deleted
  private[this] val deletedRelations = new IntStack
  private[this] val deletedCopies = new IntStack
  private[this] var copies: RowCopies = null
  private[this] var watermark = Long.MinValue

  /** Of the roles (bit set) of an inserted row, or of a change to it, those in which its time has
    * not passed at `watermark` (milliseconds).
    */
  def kept(roles: Long, watermark: Long, base: AnyRef, offset: Long, bytes: Int): Long =
    lifetimes.needed(roles, watermark, base, offset, bytes)

  /** Makes the last batch final; `views` are the views after it. Where most times are of rows that
    * are gone, the times are collected again.
    */
  def settle(views: RowStore): Unit = {
    if (times.size > 2 * rowsThatExpire(views) + FewTimes) {
      times.reset()
      restore(views)
    }
    times.eachInserted(times.put(_, _, _))
    clear()
  }

  /** The row was inserted into the relation. */
  def inserted(relation: Int, row: Int, views: RowStore): Unit =
    if (times.has(relation)) times.inserted(relation, row, until(relation, row, views))

  /** The row was deleted from the relation; its content can still be read. */
  def deleted(relation: Int, row: Int, views: RowStore): Unit = if (times.has(relation)) {
    if (copies == null) copies = new RowCopies(views)
    deletedRelations.push(relation)
    deletedCopies.push(copies.add(inputOf(relation), row))
  }

  /** Advances to `watermark`: calls `f` with each relation and row that may be due. */
  def end(watermark: Long)(f: (Int, Int) => Unit): Unit = {
    this.watermark = watermark
    times.advance(watermark)(f)
  }

  /** Whether a row can be in a wheel several times, or another one under its id. */
  def mayOccurAgain(relation: Int): Boolean = deletes(relation)

  /** Whether the time of a present row has passed. */
  def isDue(relation: Int, row: Int, views: RowStore): Boolean =
    !mayOccurAgain(relation) || until(relation, row, views) <= watermark

  /** Rows that expired in the batch will expire when it is run again. */
  override def rollBack(views: RowStore): Unit = {
    while (!deletedRelations.isEmpty) {
      val relation = deletedRelations.pop()
      val (input, copy) = (inputOf(relation), deletedCopies.pop())
      val row = views.find(input, copies.content(input, copy), copies.words(input, copy))
      if (row >= 0) times.put(relation, row, until(relation, row, views))
    }
    clear()
  }

  /** Adds all rows of views that were rebuilt. */
  def restore(views: RowStore): Unit =
    for (relation <- inputOf.indices if times.has(relation); row <- 0 until views.arena(inputOf(relation)).limit)
      if (views.multiplicity(relation, row) != 0) inserted(relation, row, views)

  /** The least watermark at which a row expires; the greatest long if there is none. */
  def next(views: RowStore): Long = times.next(
    watermark,
    (relation, time, row) =>
      !mayOccurAgain(relation) || views.multiplicity(relation, row) != 0 && until(relation, row, views) == time
  )

  def bytes: Long =
    times.bytes + deletedRelations.bytes + deletedCopies.bytes + (if (copies == null) 0L else copies.bytes)

  /** The watermark at which a present row expires in a relation. */
  private def until(relation: Int, row: Int, views: RowStore): Long = {
    val arena = views.arena(inputOf(relation))
    lifetimes.until(relation, arena.page(row), RowWords.offset(arena, row), 8 * arena.words(row))
  }

  /** An upper bound of the times that present rows have: the rows of its input for each relation
    * whose rows expire.
    */
  private def rowsThatExpire(views: RowStore): Long =
    inputOf.indices.iterator.filter(times.has).map(r => views.rowsOf(inputOf(r))).sum

  /** Forgets the last batch. */
  private def clear(): Unit = {
    times.clear()
    deletedRelations.clear()
    deletedCopies.clear()
    copies = null
  }
}

private[state] object ExpiringRows {

  /** The wheels are not filled anew for fewer times of deleted rows than this. */
  final private val FewTimes = 1000
}
