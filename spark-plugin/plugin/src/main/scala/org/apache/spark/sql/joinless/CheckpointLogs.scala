package org.apache.spark.sql.joinless

import org.apache.hadoop.fs.Path
import org.apache.spark.io.CompressionCodec
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

/** The logs of offsets and commits of a checkpoint, and the stores of its batches, read from
  * outside while the query may be running. Nothing is written.
  *
  * Private to Spark: the logs, and the providers of state stores.
  */
final class CheckpointLogs(val session: SparkSession, checkpoint: String) {
  private val own = classicOf(session)
  private val hadoop = own.sessionState.newHadoopConf()

  val path: Path = {
    val named = new Path(checkpoint)
    named.getFileSystem(hadoop).makeQualified(named)
  }

  /** The folder of all operators' state. */
  val state: Path = new CheckpointFolder(session, path).state

  private val logs = new LogReader(own, path)

  def exists: Boolean = new CheckpointFiles(session, path).exists(path)

  /** Batches whose commit exists, ascending. */
  def batches: Seq[Long] = logs.batches

  /** The id of the query that the checkpoint belongs to. It exists once a batch was begun. */
  def query: String = logs.query

  /** What the sources had been read up to after a batch, in the order of the query's sources; None
    * for a source of which nothing was read.
    */
  def offsets(batch: Long): Option[Seq[Option[String]]] = logs.offsets(batch).map(_.offsets.map(_.map(_.json)))

  /** The stores of an operator as of a committed batch; None if its logs are deleted.
    *
    * @param keyPrefix entries are found by that many of the first columns of their keys, too
    * @param refuse called with a setting of the query that names a class which neither Spark nor
    *   this session names, and the class: stores would make an instance of it
    */
  def stores(batch: Long, operator: Long, key: StructType, keyPrefix: Option[Int], value: StructType)(
      refuse: (String, String) => Nothing
  ): Option[CellStores] =
    for (commit <- logs.commit(batch); offsets <- logs.offsets(batch)) yield {
      // stores that load a snapshot report to the coordinator, which a session without streams has
      // not started yet
      val _ = own.streams.stateStoreCoordinator
      val conf = own.sessionState.conf.clone()
      CheckpointReaders.metadata(offsets).foreach(OffsetSeqMetadata.setSessionConf(_, conf))
      checkClasses(conf, refuse)
      val ids = commit.stateUniqueIds.flatMap(_.get(operator)).map(_.toIndexedSeq.map(_.head))
      // the offset log does not say how files are named
      conf.setConf(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION, if (ids.isDefined) 2 else 1)
      new CellStores(
        state.toString,
        operator,
        batch,
        ids,
        key,
        keyPrefix,
        value,
        new StateStoreConf(conf),
        new SerializableConfiguration(hadoop)
      )
    }

  /** Refuses settings that name a class for stores or their compression that is neither Spark's nor
    * the session's.
    */
  private def checkClasses(conf: SQLConf, refuse: (String, String) => Nothing): Unit = {
    val (provider, codec) = (conf.stateStoreProviderClass, conf.stateStoreCompressionCodec)
    if (!CheckpointLogs.Providers(provider) && provider != own.sessionState.conf.stateStoreProviderClass)
      refuse(SQLConf.STATE_STORE_PROVIDER_CLASS.key, provider)
    if (!CheckpointLogs.Codecs(codec) && codec != own.sessionState.conf.stateStoreCompressionCodec)
      refuse(SQLConf.STATE_STORE_COMPRESSION_CODEC.key, codec)
  }
}

private object CheckpointLogs {
  private val Providers =
    Set(classOf[HDFSBackedStateStoreProvider].getName, classOf[RocksDBStateStoreProvider].getName)
  private val Codecs = CompressionCodec.shortCompressionCodecNames.keySet ++ CompressionCodec.ALL_COMPRESSION_CODECS
}
