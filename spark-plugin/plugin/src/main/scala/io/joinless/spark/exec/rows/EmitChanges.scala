package io.joinless.spark.exec.rows

import io.joinless.spark.plans.values.{ChangeTypes, DeltaForm}
import io.joinless.spark.spec.RowCodec
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/** Converts changes to a form: rows whose last column is their weight in, rows whose last column is
  * the change column out. A row of weight 0 is no change.
  *
  * A row with its weight is emitted as it is. A row with a change type has the same columns but for
  * the last, whose data follows all other data. So a row's bytes are copied, and none of its
  * columns is read.
  * {{{
  * in     NULL bits | columns … | weight          | data of columns
  * out    NULL bits | columns … | offset, length  | data of columns | "insert"
  * }}}
  * A row is emitted as many times as its weight says. The emitted row is the same object each time.
  */
private[exec] object EmitChanges {

  /** The changes in a form.
    *
    * @param columns of a row, without the weight behind them
    * @param rowsOut counts the rows that are emitted
    */
  def apply(form: DeltaForm, columns: Int, changes: Iterator[UnsafeRow], rowsOut: SQLMetric): Iterator[InternalRow] =
    form match {
      case DeltaForm.Weight =>
        changes.filter(_.getLong(columns) != 0L).map { row =>
          rowsOut += 1
          row
        }
      case DeltaForm.ChangeType | DeltaForm.OnClose => new Copies(columns, changes, rowsOut)
    }

  /** A row with its change type as often as its weight says. */
  final private class Copies(columns: Int, changes: Iterator[UnsafeRow], rowsOut: SQLMetric)
      extends Iterator[InternalRow] {
    private[this] val emitted = new UnsafeRow(columns + 1)
    private[this] val ofType = Platform.BYTE_ARRAY_OFFSET + 8L * (RowCodec.nullWords(columns + 1) + columns)
    private[this] var buffer = new Array[Byte](256)

    // how often the current row is still to be emitted, negative for a delete; counts towards 0
    // from either side, since the smallest weight has no positive counterpart
    private[this] var timesLeft = 0L

    override def hasNext: Boolean = {
      while (timesLeft == 0L && changes.hasNext) {
        val change = changes.next()
        timesLeft = change.getLong(columns)
        if (timesLeft != 0L) write(change, if (timesLeft > 0) Insert else Delete)
      }
      timesLeft != 0L
    }

    override def next(): InternalRow = {
      if (!hasNext) throw new NoSuchElementException("no more changes")
      rowsOut += 1
      timesLeft -= java.lang.Long.signum(timesLeft)
      emitted
    }

    /** Writes a change with its type to `emitted`. */
    private def write(change: UnsafeRow, as: TypeData): Unit = {
      val bytes = change.getSizeInBytes
      if (buffer.length < bytes + 8) buffer = new Array[Byte](Math.addExact(bytes, bytes / 2 + 8))
      copy(change.getBaseObject, change.getBaseOffset, bytes)
      Platform.putLong(buffer, ofType, bytes.toLong << 32 | as.length)
      Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET.toLong + bytes, as.word)
      emitted.pointTo(buffer, bytes + 8)
    }

    /** Copies a row. Rows are whole words, and mostly a few: a loop has copied these before a
      * library call would begin.
      */
    private def copy(from: AnyRef, offset: Long, bytes: Int): Unit =
      if (bytes > 256) Platform.copyMemory(from, offset, buffer, Platform.BYTE_ARRAY_OFFSET, bytes)
      else {
        var at = 0
        while (at < bytes) {
          Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET.toLong + at, Platform.getLong(from, offset + at))
          at += 8
        }
      }
  }

  /** A change type, of at most eight bytes, as it is stored in a row. */
  final private class TypeData(value: UTF8String) {
    val length: Int = value.numBytes
    val word: Long = {
      val bytes = java.util.Arrays.copyOf(value.getBytes, 8)
      Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET)
    }
  }

  private val Insert = new TypeData(ChangeTypes.Insert)
  private val Delete = new TypeData(ChangeTypes.Delete)
}
