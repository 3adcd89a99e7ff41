package io.joinless.spark.state.log

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A block of a log as the store has it, with the number under which it is stored. */
final class LoggedBlock(key: UnsafeRow, value: UnsafeRow, reader: ChangeLogReader) {

  /** Its number, which is its key. */
  val first: Long = key.getLong(0)

  /** The last number of the blocks merged into it, according to its header. */
  lazy val last: Long = ChangeLogReader.lastOf(first, value)

  /** Number of its entries, according to its header. */
  def entries: Int = ChangeLogReader.entriesOf(value)

  /** Checks the block, then calls `entry` for each of its rows. */
  def foreachRow(entry: ChangeLogReader.Entry): Unit = reader.read(key, value)(entry)
}
