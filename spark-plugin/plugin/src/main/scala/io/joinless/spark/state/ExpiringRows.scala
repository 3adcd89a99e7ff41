package io.joinless.spark.state

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.RowCopies
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec

/** When the rows of a cell expire that go by themselves. Kept with the cell's views, and found anew when these are rebuilt.
  *
  * As in [[NeededRows]], the rows of the last batch are in no wheel until it is settled: they are gone where it is taken back. What
  * went in it is kept as a copy until then, since a row that comes back has another id.
  *
  * Each row that is there is in the wheel of its relation, at its time. A row that a changelog deletes before its time stays in the wheel,
  * where its id may be another row's by then. So [[isDue]] and [[next]] look at the row; and where more such times lie in wheels than rows are there, the
  * wheels are filled anew.
  *
  * Memory: 12 bytes for each row and role, up to twice that with a changelog; the copies of rows that went in the last batch.
  */
final private[spark] class ExpiringRows(spec: BlockSpec) {
  import ExpiringRows._

  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val inputOf = spec.relations.map(_.input).toArray
  private[this] val deletes = inputOf.map(spec.inputs(_).kind.signed)
  private[this] val times = new RowTimes(spec.relations.map(r => spec.inputs(r.input).kind.expires))

  // what went in the last batch
  private[this] val goneRelations = new IntStack
  private[this] val goneCopies = new IntStack
  private[this] var copies: RowCopies = null
  private[this] var watermark = Long.MinValue

  /** Of these roles of a row that comes, or of a change to it, those in which its time has not passed. */
  def kept(roles: Long, watermark: Long, base: AnyRef, offset: Long, bytes: Int): Long =
    lifetimes.needed(roles, watermark, base, offset, bytes)

  /** The last batch stands, and these are the views behind it. */
  def settle(views: RowStore): Unit = {
    if (times.size > 2 * rowsThatExpire(views) + FewTimes) {
      times.reset()
      restore(views)
    }
    times.eachThatCame(times.put(_, _, _))
    clear()
  }

  /** The row is in the relation now, and was not before. */
  def came(relation: Int, row: Int, views: RowStore): Unit =
    if (times.has(relation)) times.came(relation, row, until(relation, row, views))

  /** The row is in the relation no longer; its content is there still. */
  def went(relation: Int, row: Int, views: RowStore): Unit = if (times.has(relation)) {
    if (copies == null) copies = new RowCopies(views)
    goneRelations.push(relation)
    goneCopies.push(copies.add(inputOf(relation), row))
  }

  /** The watermark is `watermark`: tells `f` each relation and row that may be due. */
  def end(watermark: Long)(f: (Int, Int) => Unit): Unit = {
    this.watermark = watermark
    times.advance(watermark)(f)
  }

  /** Whether a row can be in a wheel several times, or another one in its place. */
  def mayComeAgain(relation: Int): Boolean = deletes(relation)

  /** Whether the time of a row that is there has passed. */
  def isDue(relation: Int, row: Int, views: RowStore): Boolean =
    !mayComeAgain(relation) || until(relation, row, views) <= watermark

  /** The last batch is taken back, and the views are those from before: what expired in it will expire when it is played again. */
  def takeBack(views: RowStore): Unit = {
    while (!goneRelations.isEmpty) {
      val relation = goneRelations.pop()
      val (input, copy) = (inputOf(relation), goneCopies.pop())
      val row = views.find(input, copies.content(input, copy), copies.words(input, copy))
      if (row >= 0) times.put(relation, row, until(relation, row, views))
    }
    clear()
  }

  /** Takes all rows of views that were rebuilt. */
  def restore(views: RowStore): Unit =
    for (relation <- inputOf.indices if times.has(relation); row <- 0 until views.arena(inputOf(relation)).limit)
      if (views.multiplicity(relation, row) != 0) came(relation, row, views)

  /** The least watermark at which a row expires; the greatest long where there is none. */
  def next(views: RowStore): Long = times.next(
    watermark,
    (relation, time, row) =>
      !mayComeAgain(relation) || views.multiplicity(relation, row) != 0 && until(relation, row, views) == time
  )

  def bytes: Long = times.bytes + goneRelations.bytes + goneCopies.bytes + (if (copies == null) 0L else copies.bytes)

  private def until(relation: Int, row: Int, views: RowStore): Long = {
    val arena = views.arena(inputOf(relation))
    lifetimes.until(relation, arena.page(row), RowWords.offset(arena, row), 8 * arena.words(row))
  }

  private def rowsThatExpire(views: RowStore): Long =
    inputOf.indices.iterator.filter(times.has).map(r => views.rowsOf(inputOf(r))).sum

  private def clear(): Unit = {
    times.clear()
    goneRelations.clear()
    goneCopies.clear()
    copies = null
  }
}

private object ExpiringRows {

  /** So many times of rows that are gone are not worth the work. */
  final private val FewTimes = 1000
}
