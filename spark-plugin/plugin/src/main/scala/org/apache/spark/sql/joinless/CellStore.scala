package org.apache.spark.sql.joinless

import java.util.UUID

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreId, StateStoreProviderId}

/** The open store of one cell in one batch; uncommitted changes are lost.
  *
  * `StateStore` is internal to Spark.
  */
final class CellStore private[joinless] (private[joinless] val store: StateStore) extends PrefixStore {

  def cell: Int = store.id.partitionId

  override def put(key: UnsafeRow, block: UnsafeRow): Unit = store.put(key, block)

  override def get(key: UnsafeRow): UnsafeRow = store.get(key)

  override def remove(key: UnsafeRow): Unit = store.remove(key)

  override def scan[A](prefix: UnsafeRow)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
    val pairs = store.prefixScan(prefix)
    try read(pairs.map(pair => (pair.key, pair.value)))
    finally pairs.close()
  }

  override def read[A](read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
    val pairs = store.iterator()
    try read(pairs.map(pair => (pair.key, pair.value)))
    finally pairs.close()
  }

  /** Makes the changes durable. */
  def commit(): Unit = { val _ = store.commit() }

  /** The id of the committed files, if Spark gives them one. */
  def checkpointId: Option[String] = store.getStateStoreCheckpointInfo().stateStoreCkptId
}

object CellStore {

  /** Whether this executor has the store of a cell open for a run of its query. */
  def isOpen(checkpoint: String, operator: Long, cell: Int, run: UUID): Boolean =
    StateStore.isLoaded(StateStoreProviderId(StateStoreId(checkpoint, operator, cell), run))
}
