package io.joinless.spark.state.log

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.BlockStore

/** The blocks of a cell's log in its store, by number. */
final private[spark] class StoredBlocks(store: BlockStore, reader: ChangeLogReader) {
  private[this] val key = UnsafeRow.createFromByteArray(16, 1)

  /** The block under this number, which must be there. It can be read until the next call. */
  def apply(first: Long): LoggedBlock = {
    key.setLong(0, first)
    val value = store.get(key)
    if (value == null) throw reader.missing(first)
    new LoggedBlock(key, value, reader)
  }

  /** Removes the block under this number. */
  def remove(first: Long): Unit = {
    key.setLong(0, first)
    store.remove(key)
  }
}
