package org.apache.spark.sql.joinless

import java.io.FileNotFoundException
import java.util.UUID

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

/** The stores of one operator at one version, to be opened by tasks: each opening makes a provider
  * of its own, independent of the executor's stores of a running query.
  *
  * Private to Spark: the providers of state stores.
  */
final class CellStores private[joinless] (
    val location: String,
    val operator: Long,
    val batch: Long,
    ids: Option[IndexedSeq[String]],
    key: StructType,
    keyPrefix: Option[Int],
    value: StructType,
    conf: StateStoreConf,
    hadoop: SerializableConfiguration
) extends Serializable {

  def checkpoint: String = new Path(location).getParent.toString

  /** The id of a cell's committed files, if Spark gave them one. */
  def checkpointId(cell: Int): Option[String] = ids.map(_(cell))

  /** A cell's store, to be closed.
    *
    * @param missing the error to throw if the store cannot be loaded
    */
  def open(cell: Int, missing: Throwable => Throwable): CellBlocks = {
    val id = StateStoreId(location, operator, cell)
    checkFolder(id.storeCheckpointLocation(), missing)
    val provider = StateStoreProvider.createAndInit(
      StateStoreProviderId(id, UUID.randomUUID()),
      key,
      value,
      CellStores.keyEncoder(key, keyPrefix),
      useColumnFamilies = false,
      conf,
      hadoop.value,
      useMultipleValuesPerKey = false,
      stateSchemaProvider = None
    )
    try
      new CellBlocks(
        provider,
        try provider.getReadStore(batch + 1, ids.map(_(cell)))
        catch { case NonFatal(e) => throw missing(e) }
      )
    catch { case e: Throwable => provider.close(); throw e }
  }

  /** Throws if a store has no folder: a provider would make one. */
  private def checkFolder(folder: Path, missing: Throwable => Throwable): Unit = {
    val isThere =
      try folder.getFileSystem(hadoop.value).exists(folder)
      catch { case NonFatal(e) => throw missing(e) }
    if (!isThere) throw missing(new FileNotFoundException(s"there is no folder $folder"))
  }
}

private[joinless] object CellStores {

  /** How keys are stored.
    *
    * @param prefix entries are found by that many of the first columns of their keys, too
    */
  def keyEncoder(key: StructType, prefix: Option[Int]): KeyStateEncoderSpec =
    prefix.fold[KeyStateEncoderSpec](NoPrefixKeyStateEncoderSpec(key))(PrefixKeyScanStateEncoderSpec(key, _))
}

/** The entries of one cell's store. */
final class CellBlocks private[joinless] (provider: StateStoreProvider, store: ReadStateStore)
    extends PrefixScan with AutoCloseable {
  private val pairs = store.iterator()

  /** All entries, in any order; each pair of rows is valid until the next. */
  val blocks: Iterator[(UnsafeRow, UnsafeRow)] = pairs.map(pair => (pair.key, pair.value))

  override def scan[A](prefix: UnsafeRow)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
    val pairs = store.prefixScan(prefix)
    try read(pairs.map(pair => (pair.key, pair.value)))
    finally pairs.close()
  }

  override def close(): Unit =
    try {
      pairs.close()
      store.abort()
    } catch { case _: StateStoreOperationOutOfOrder => } // released, as its task has ended
    finally provider.close()
}
