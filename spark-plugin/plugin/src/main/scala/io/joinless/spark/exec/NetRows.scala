package io.joinless.spark.exec

import io.joinless.engine.tuples.{KeyIndex, PagedLongs, TupleArena}
import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Adds up the weights of equal rows (rows of equal bytes): what is left is net, one entry per row.
  *
  * Memory: the bytes of each different row, once, and a few words; no object per row. `add` costs one probe.
  */
final private class NetRows(fields: Int) {
  private[this] val rows = new TupleArena(0)
  private[this] val index = new KeyIndex(rows, 0, counted = false)
  private[this] val weights = new PagedLongs
  private[this] var words = new Array[Long](32)

  def add(row: UnsafeRow, weight: Long): Unit = {
    val count = row.getSizeInBytes >> 3
    if (words.length < count) words = new Array[Long](2 * count)
    Platform.copyMemory(row.getBaseObject, row.getBaseOffset, words, Platform.LONG_ARRAY_OFFSET, 8L * count)
    val id = index.findOrAdd(words, count)
    try weights(id) = Math.addExact(weights(id), weight)
    catch { case _: ArithmeticException => throw JoinlessErrors.weightOverflow() }
  }

  /** Rows of weights other than 0, in the order in which they first came. The row is the same object each time. */
  def iterator: Iterator[(UnsafeRow, Long)] = {
    val row = new UnsafeRow(fields)
    Iterator.range(0, index.size).filter(weights(_) != 0L).map { id =>
      row.pointTo(rows.page(id), Platform.LONG_ARRAY_OFFSET + 8L * rows.start(id), 8 * rows.words(id))
      (row, weights(id))
    }
  }
}
