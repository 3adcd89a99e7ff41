package io.joinless.spark.exec

import io.joinless.engine.algebra.{Weight, WeightOverflow}
import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena}
import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Adds up the weights of equal rows (rows of equal bytes): what is left is net, one entry per row.
  *
  * {{{
  * changes.foreach(c => net.add(c.row, c.weight))
  * while (net.next()) emit(net.row, net.weight)
  * }}}
  *
  * Memory: the bytes of each different row, once, and a few words; no object per row. `add` costs one probe. Nothing is to
  * be added once `next` was called.
  */
final private class NetRows(fields: Int) {
  private[this] val rows = new TupleArena(0)
  private[this] val index = new KeyIndex(rows, 0, counted = false)
  private[this] val weights = new PagedLongs
  private[this] var words = new Array[Long](32)
  private[this] var at = -1

  /** The row that `next` has come to: the same object each time, which points at bytes of its own. */
  val row = new UnsafeRow(fields)

  def weight: Long = weights(at)

  def add(row: UnsafeRow, weight: Long): Unit = {
    val count = row.getSizeInBytes >> 3
    if (words.length < count) words = new Array[Long](2 * count)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, words, Platform.LONG_ARRAY_OFFSET, 8L * count)
    val id = index.findOrAdd(words, count)
    try weights(id) = Weight.add(weights(id), weight)
    catch { case _: WeightOverflow => throw JoinlessErrors.weightOverflow() }
  }

  /** Comes to the next row whose weight is not 0, in the order in which rows first came; false where there is none. */
  def next(): Boolean = {
    at += 1
    while (at < index.size && weights(at) == 0L) at += 1
    at < index.size && {
      row.pointTo(rows.page(at), Platform.LONG_ARRAY_OFFSET + 8L * rows.start(at), 8 * rows.words(at))
      true
    }
  }
}
