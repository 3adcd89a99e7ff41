package org.apache.spark.sql.joinless

import java.util.UUID

import scala.util.control.NonFatal

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.state.ChangeLog
import org.apache.hadoop.fs.Path
import org.apache.spark.io.CompressionCodec
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.checkpointing.{CheckpointFileManager, OffsetSeqMetadata}
import org.apache.spark.sql.execution.streaming.runtime.{StreamingCheckpointConstants, StreamingQueryCheckpointMetadata}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.SerializableConfiguration

/** What a checkpoint holds, read from outside while its query may be running. Nothing is written.
  *
  * Private to Spark: the logs of offsets and commits, and the providers of state stores; checked on 4.2.0.
  */
final class CommittedState(session: SparkSession, checkpoint: String) {
  private val own = session.asInstanceOf[classic.SparkSession]
  private val hadoop = own.sessionState.newHadoopConf()
  private val path = {
    val named = new Path(checkpoint)
    named.getFileSystem(hadoop).makeQualified(named)
  }
  private val state = new Path(path, StreamingCheckpointConstants.DIR_NAME_STATE)
  private val logs = new StreamingQueryCheckpointMetadata(own, path.toString, readOnly = true)

  def exists: Boolean = CheckpointFileManager.create(path, hadoop).exists(path)

  /** Batches whose commit is there, ascending. */
  def batches: Seq[Long] = logs.commitLog.listBatchesOnDisk.toSeq

  /** Our join blocks as of a batch, and whether there are stateful operators of Spark. */
  def blocks(batch: Long): (Seq[StreamContext.Recorded], Boolean) = {
    val found = OperatorMetadata.read(session, state.toString, batch)
    (found.ours, found.sparkOperators)
  }

  /** The stores of an operator as of a committed batch; None where its logs are gone. */
  def stores(batch: Long, operator: Long): Option[CellStores] =
    for (commit <- logs.commitLog.get(batch); offsets <- logs.offsetLog.get(batch)) yield {
      // stores that load a snapshot report to the coordinator, which a session without streams has not started yet
      val _ = own.streams.stateStoreCoordinator
      val conf = own.sessionState.conf.clone()
      offsets.metadataOpt.foreach(OffsetSeqMetadata.setSessionConf(_, conf))
      checkClasses(conf)
      val ids = commit.stateUniqueIds.flatMap(_.get(operator)).map(_.toIndexedSeq.map(_.head))
      // the offset log does not say how files are named
      conf.setConf(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, if (ids.isDefined) 2 else 1)
      new CellStores(
        state.toString,
        operator,
        batch,
        ids,
        new StateStoreConf(conf),
        new SerializableConfiguration(hadoop)
      )
    }

  /** Settings of the offset log name classes, of which stores make instances: only Spark's own, or what this session names. */
  private def checkClasses(conf: SQLConf): Unit = {
    def refuse(key: String, name: String) = throw JoinlessErrors.stateMismatch(
      Mismatch.Unreadable,
      path.toString,
      s"Its query ran with $key=${name.take(200)}; to read it, set the same in the session, if you know that class."
    )
    val (provider, codec) = (conf.stateStoreProviderClass, conf.stateStoreCompressionCodec)
    if (!CommittedState.Providers(provider) && provider != own.sessionState.conf.stateStoreProviderClass)
      refuse(SQLConf.STATE_STORE_PROVIDER_CLASS.key, provider)
    if (!CommittedState.Codecs(codec) && codec != own.sessionState.conf.stateStoreCompressionCodec)
      refuse(SQLConf.STATE_STORE_COMPRESSION_CODEC.key, codec)
  }
}

private object CommittedState {
  private val Providers =
    Set(classOf[HDFSBackedStateStoreProvider].getName, classOf[RocksDBStateStoreProvider].getName)
  private val Codecs = CompressionCodec.shortCompressionCodecNames.keySet ++ CompressionCodec.ALL_COMPRESSION_CODECS
}

/** The stores of one operator at one version, to be opened by tasks: each opening makes a provider of its own, which the
  * executor's stores of a running query know nothing of.
  */
final class CellStores(
    location: String,
    operator: Long,
    val batch: Long,
    ids: Option[IndexedSeq[String]],
    conf: StateStoreConf,
    hadoop: SerializableConfiguration
) extends Serializable {

  /** Calls `read` with the blocks of a cell's log, in any order; nothing stays open after it. */
  def read[A](cell: Int)(read: Iterator[(UnsafeRow, UnsafeRow)] => A): A = {
    val log = open(cell)
    try read(log.blocks)
    finally log.close()
  }

  /** The log of a cell, to be closed. */
  def open(cell: Int): CellLog = {
    val provider = StateStoreProvider.createAndInit(
      StateStoreProviderId(StateStoreId(location, operator, cell), UUID.randomUUID()),
      ChangeLog.KeySchema,
      ChangeLog.ValueSchema,
      NoPrefixKeyStateEncoderSpec(ChangeLog.KeySchema),
      useColumnFamilies = false,
      conf,
      hadoop.value,
      useMultipleValuesPerKey = false,
      stateSchemaProvider = None
    )
    try new CellLog(provider, opened(provider, cell))
    catch { case e: Throwable => provider.close(); throw e }
  }

  private def opened(provider: StateStoreProvider, cell: Int): ReadStateStore =
    try provider.getReadStore(batch + 1, ids.map(_(cell)))
    catch { case NonFatal(e) => throw JoinlessErrors.stateGone(batch, new Path(location).getParent.toString, cell, e) }
}

/** The blocks of one cell's log, in any order; each pair of rows holds until the next. */
final class CellLog private[joinless] (provider: StateStoreProvider, store: ReadStateStore) extends AutoCloseable {
  private val pairs = store.iterator()

  val blocks: Iterator[(UnsafeRow, UnsafeRow)] = pairs.map(pair => (pair.key, pair.value))

  override def close(): Unit =
    try {
      pairs.close()
      store.abort()
    } finally provider.close()
}
