package org.apache.spark.sql.joinless

import io.joinless.spark.state.BlockStore
import java.util.UUID
import scala.util.control.NonFatal
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.state.{
  NoPrefixKeyStateEncoderSpec,
  OperatorStateMetadataReader,
  OperatorStateMetadataV2,
  StateSchemaCompatibilityChecker,
  StateSchemaValidationResult,
  StateStore,
  StateStoreColFamilySchema,
  StateStoreId,
  StateStoreOps,
  StateStoreProviderId
}
import org.apache.spark.sql.types.StructType

/** One state store per partition, with one default column family.
  *
  * Private to Spark: `StreamingQueryManager.stateStoreCoordinator`, which knows the executors that hold a store (tasks go
  * there by preference, and find their view tree); the schema checker and the metadata reader change their signatures
  * between versions. Checked on 4.2.0.
  */
object StateStores {

  /** Runs `f` on each partition of `rows` with its store, opened at the version of `info` and aborted unless committed. */
  def mapPartitions(
      rows: RDD[InternalRow],
      info: StatefulOperatorStateInfo,
      session: SparkSession,
      key: StructType,
      value: StructType
  )(f: (StateStore, Iterator[InternalRow]) => Iterator[InternalRow]): RDD[InternalRow] =
    rows.mapPartitionsWithStateStore(
      info,
      key,
      value,
      NoPrefixKeyStateEncoderSpec(key),
      session.sessionState,
      Some(session.streams.stateStoreCoordinator)
    )(f)

  /** This executor has the store of a partition open for a run of its query. */
  def isOpen(checkpoint: String, operator: Long, partition: Int, run: UUID): Boolean =
    StateStore.isLoaded(StateStoreProviderId(StateStoreId(checkpoint, operator, partition), run))

  /** The store as that of a log's blocks. */
  def blocks(store: StateStore): BlockStore = new BlockStore {
    override def put(key: UnsafeRow, block: UnsafeRow): Unit = store.put(key, block)
    override def get(key: UnsafeRow): UnsafeRow = store.get(key)
    override def remove(key: UnsafeRow): Unit = store.remove(key)
  }

  /** Writes the schema of the store for the first time, or checks it against what is there. Metadata version 2 wants schema
    * format 3, each schema a file of its own named in the metadata.
    */
  def checkSchema(
      info: StatefulOperatorStateInfo,
      session: SparkSession,
      hadoop: Configuration,
      batch: Long,
      directory: Path,
      key: StructType,
      value: StructType
  ): StateSchemaValidationResult = {
    val schema = StateStoreColFamilySchema(
      StateStore.DEFAULT_COL_FAMILY_NAME,
      keySchemaId = 0,
      key,
      valueSchemaId = 0,
      value,
      Some(NoPrefixKeyStateEncoderSpec(key))
    )
    StateSchemaCompatibilityChecker.validateAndMaybeEvolveStateSchema(
      info,
      hadoop,
      List(schema),
      session.sessionState,
      StateSchemaCompatibilityChecker.SCHEMA_FORMAT_V3,
      storeName = StateStoreId.DEFAULT_STORE_NAME,
      oldSchemaFilePaths = oldSchemas(info, hadoop, batch),
      newSchemaFilePath = Some(new Path(directory, s"${batch}_${UUID.randomUUID()}"))
    )
  }

  /** Schema files that the metadata in force names; none where there is none, or none that can be read. */
  private def oldSchemas(info: StatefulOperatorStateInfo, hadoop: Configuration, batch: Long): List[Path] =
    try
      OperatorStateMetadataReader
        .createReader(new Path(info.checkpointLocation, info.operatorId.toString), hadoop, 2, batch)
        .read() match {
        case Some(v2: OperatorStateMetadataV2) =>
          v2.stateStoreInfo.head.stateSchemaFilePaths.map(new Path(_))
        case _ => Nil
      }
    catch { case NonFatal(_) => Nil }
}
