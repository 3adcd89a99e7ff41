package io.joinless.spark.state.log

import scala.collection.immutable.TreeMap

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.joinless.BlockStore

/** A store in memory: the changes of a batch are lost unless it is committed. */
final class BlocksInMemory extends BlockStore {
  private var committed = TreeMap.empty[Long, UnsafeRow]
  private var working = committed
  var entriesPut = 0L
  var bytesPut = 0L

  override def put(key: UnsafeRow, block: UnsafeRow): Unit = {
    working += key.getLong(0) -> block.copy()
    entriesPut += ChangeLogReader.entriesOf(block)
    bytesPut += block.getSizeInBytes
  }
  override def get(key: UnsafeRow): UnsafeRow = working.getOrElse(key.getLong(0), null)
  override def remove(key: UnsafeRow): Unit = {
    assert(working.contains(key.getLong(0)), "removes what is not there")
    working -= key.getLong(0)
  }

  def begin(): Unit = { working = committed; entriesPut = 0; bytesPut = 0 }
  def commit(): Unit = committed = working

  /** In the order of their keys. */
  def blocks: Seq[(UnsafeRow, UnsafeRow)] = committed.toSeq.map { case (sequence, block) =>
    val key = UnsafeRow.createFromByteArray(16, 1)
    key.setLong(0, sequence)
    (key, block)
  }
}
