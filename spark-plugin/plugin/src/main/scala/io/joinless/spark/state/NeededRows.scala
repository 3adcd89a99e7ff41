package io.joinless.spark.state

import scala.collection.mutable

import io.joinless.engine.tuples.{PagedBytes, TimingWheel}
import io.joinless.engine.view.RowStore
import io.joinless.spark.spec.BlockSpec

/** Which rows of a cell are needed until when, and which blocks of its log: where rows are forgotten. Kept with the cell's views, and
  * found anew when these are rebuilt.
  *
  * Memory: 12 bytes for each row and role whose time ends, a byte for each row, and an object per block of the log.
  */
final private[spark] class NeededRows(spec: BlockSpec) {
  private[this] val lifetimes = new RowLifetimes(spec)
  private[this] val wheels = spec.relations.indices.map(r => if (lifetimes.ends(r)) new TimingWheel else null).toArray
  private[this] val roles = spec.inputs.map(_ => new PagedBytes).toArray // of a row: how many it is still needed in
  private[this] val inputOf = spec.relations.map(_.input).toArray

  private[this] val log = new mutable.ArrayDeque[NeededRows.Block]
  private[this] var logEntries = 0L

  /** The oldest block of the log, if there is one. */
  def oldest: Option[NeededRows.Block] = log.headOption

  /** Entries of all blocks of the log. */
  def entries: Long = logEntries

  /** A block came behind the others. */
  def append(block: NeededRows.Block): Unit = {
    log += block
    logEntries += block.entries
  }

  /** The oldest block of the log is gone. */
  def removeOldest(): NeededRows.Block = gone(log.removeHead())

  /** The last block of the log is gone. */
  def removeLast(): NeededRows.Block = gone(log.removeLast())

  private def gone(block: NeededRows.Block): NeededRows.Block = {
    logEntries -= block.entries
    block
  }

  /** A row came, with these roles. */
  def came(roles: Long, row: Int, base: AnyRef, offset: Long, bytes: Int): Unit = {
    var left = roles
    while (left != 0L) {
      val relation = java.lang.Long.numberOfTrailingZeros(left)
      if (wheels(relation) != null) wheels(relation).put(lifetimes.until(relation, base, offset, bytes), row)
      left &= left - 1
    }
    this.roles(inputOf(java.lang.Long.numberOfTrailingZeros(roles)))(row) = java.lang.Long.bitCount(roles)
  }

  /** The watermark is now `watermark`: tells `forget` each relation and row that is needed no longer, then frees rows that no relation
    * needs.
    *
    * @return number of rows that were freed
    */
  def advance(watermark: Long, views: RowStore)(forget: (Int, Int) => Unit): Long = {
    var freed = 0L
    for (relation <- wheels.indices if wheels(relation) != null) {
      val input = inputOf(relation)
      wheels(relation).advance(watermark) { row =>
        forget(relation, row)
        val left = roles(input)(row) - 1
        roles(input)(row) = left
        if (left == 0) {
          views.arena(input).free(row)
          freed += 1
        }
      }
    }
    freed
  }

  /** The least watermark at which a row is forgotten; the greatest long where none ever is. */
  def next: Long = wheels.iterator.filter(_ != null).map(_.next).minOption.getOrElse(Long.MaxValue)

  def bytes: Long =
    wheels.iterator.filter(_ != null).map(_.bytes).sum + roles.iterator.map(_.bytes).sum +
      NeededRows.BytesPerBlock * log.size
}

private[spark] object NeededRows {

  /** A block of the log.
    *
    * @param first its number, which is its key
    * @param last the last number that it stands for
    * @param until at this watermark none of its entries is needed
    */
  final case class Block(first: Long, last: Long, entries: Int, until: Long)

  final private val BytesPerBlock = 48L
}
