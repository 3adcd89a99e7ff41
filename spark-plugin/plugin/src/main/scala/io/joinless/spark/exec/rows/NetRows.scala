package io.joinless.spark.exec.rows

import io.joinless.engine.algebra.{Weight, WeightOverflow}
import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.spec.RowCodec
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Adds up the weights of rows that are equal (in all bytes) but for their last column, the weight.
  * The result is net, one entry per row.
  *
  * {{{
  * changes.foreach(net.add)
  * while (net.next()) emit(net.row)
  * }}}
  *
  * Memory: the bytes of each different row, once, and a few words; no object per row. `add` costs
  * one probe. `add` must not be called after `next`.
  */
final private[exec] class NetRows(fields: Int) {
  private[this] val rows = new TupleArena(0)
  private[this] val index = new KeyIndex(rows, 0, counted = false)
  private[this] val weights = new PagedLongs
  private[this] var words = new Array[Long](32)
  private[this] var at = -1
  private[this] val weightAt = fields - 1
  private[this] val weightWord = RowCodec.nullWords(fields) + weightAt

  /** The current row of `next`, with its net weight: the same object each time, which points at
    * bytes of its own.
    */
  val row = new UnsafeRow(fields)

  /** Adds a row's weight to that of the equal rows: equal in all words but the weight's. */
  def add(row: UnsafeRow): Unit = {
    val count = row.getSizeInBytes >> 3
    if (words.length < count) words = new Array[Long](2 * count)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, words, Platform.LONG_ARRAY_OFFSET, 8L * count)
    words(weightWord) = 0L
    val id = index.findOrAdd(words, count)
    try weights(id) = Weight.add(weights(id), row.getLong(weightAt))
    catch { case _: WeightOverflow => throw JoinlessErrors.weightOverflow() }
  }

  /** Moves to the next row whose weight is not 0, in the order in which rows were first added;
    * false if there is none.
    */
  def next(): Boolean = {
    at += 1
    while (at < index.size && weights(at) == 0L) at += 1
    at < index.size && {
      row.pointTo(rows.page(at), Platform.LONG_ARRAY_OFFSET + 8L * rows.start(at), 8 * rows.words(at))
      row.setLong(weightAt, weights(at))
      true
    }
  }
}
