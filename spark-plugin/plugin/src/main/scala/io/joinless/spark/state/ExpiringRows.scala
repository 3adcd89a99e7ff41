package io.joinless.spark.state

import io.joinless.engine.tuples.IntStack
import io.joinless.engine.update.RowCopies
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.{BlockSpec, InputKind}
import org.apache.spark.unsafe.Platform

/** When the rows of a cell expire that go by themselves. Kept with the cell's views, and found anew when these are rebuilt.
  *
  * As in [[NeededRows]], the rows of the last batch are in no wheel until it is settled: they are gone where it is taken back. What
  * expired in it is kept as a copy until then, since a row that comes back has another id.
  *
  * Memory: 12 bytes for each row and role; the copies of rows that expired in the last batch.
  */
final private[spark] class ExpiringRows(spec: BlockSpec) {
  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val inputOf = spec.relations.map(_.input).toArray
  private[this] val times = new RowTimes(spec.relations.map(r => spec.inputs(r.input).kind == InputKind.Expiring))

  // what expired in the last batch
  private[this] val endedRelations = new IntStack
  private[this] val endedCopies = new IntStack
  private[this] var copies: RowCopies = null
  private[this] var watermark = Long.MinValue

  /** Of these roles of a row that comes, those in which its time has not passed. */
  def kept(roles: Long, watermark: Long, base: AnyRef, offset: Long, bytes: Int): Long =
    lifetimes.needed(roles, watermark, base, offset, bytes)

  /** The last batch stands. */
  def settle(): Unit = {
    times.eachThatCame(times.put(_, _, _))
    clear()
  }

  /** The row is in the relation now, and was not before. */
  def came(relation: Int, row: Int, views: RowStore): Unit = if (times.has(relation)) {
    val arena = views.arena(inputOf(relation))
    val offset = Platform.LONG_ARRAY_OFFSET + 8L * arena.start(row)
    times.came(relation, row, lifetimes.until(relation, arena.page(row), offset, 8 * arena.words(row)))
  }

  /** The watermark is `watermark`: tells `f` each relation and row whose time has passed; `f` says whether the row was there.
    *
    * @return number of those that were
    */
  def end(watermark: Long, views: RowStore)(f: (Int, Int) => Boolean): Long = {
    this.watermark = watermark
    copies = new RowCopies(views)
    var ended = 0L
    times.advance(watermark) { (relation, row) =>
      if (f(relation, row)) {
        endedRelations.push(relation)
        endedCopies.push(copies.add(inputOf(relation), row))
        ended += 1
      }
    }
    ended
  }

  /** The last batch is taken back, and the views are those from before: what expired in it will expire when it is played again. */
  def takeBack(views: RowStore): Unit = {
    while (!endedRelations.isEmpty) {
      val relation = endedRelations.pop()
      val (input, copy) = (inputOf(relation), endedCopies.pop())
      val row = views.find(input, copies.content(input, copy), copies.words(input, copy))
      if (row >= 0) times.put(relation, row, watermark)
    }
    clear()
  }

  /** Takes all rows of views that were rebuilt. */
  def restore(views: RowStore): Unit =
    for (relation <- inputOf.indices if times.has(relation); row <- 0 until views.arena(inputOf(relation)).limit)
      if (views.multiplicity(relation, row) > 0) came(relation, row, views)

  /** The least watermark at which a row expires; the greatest long where none does. */
  def next: Long = times.next(watermark)

  def bytes: Long = times.bytes + endedRelations.bytes + endedCopies.bytes + (if (copies == null) 0L else copies.bytes)

  private def clear(): Unit = {
    times.clear()
    endedRelations.clear()
    endedCopies.clear()
    copies = null
  }
}
