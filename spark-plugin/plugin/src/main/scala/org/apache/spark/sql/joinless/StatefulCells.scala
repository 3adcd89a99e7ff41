package org.apache.spark.sql.joinless

import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  StateStoreWriter,
  StatefulOpStateStoreCheckpointInfo,
  StatefulOperatorCustomMetric,
  StatefulOperatorCustomSumMetric
}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.types.StructType

/** A stateful operator with one store per partition (a cell), each with one default column family,
  * and a text of its own in the operator metadata.
  *
  * Private to Spark: `StateStoreWriter`; `StreamingQueryManager.stateStoreCoordinator`, which knows
  * the executors that hold a store (Spark prefers these for tasks, which then find their cached
  * state); the schema checker and the metadata reader, whose signatures change between versions.
  */
trait StatefulCells extends UnaryExecNode with StateStoreWriter {

  /** The columns of keys and values of the stores. */
  protected def keySchema: StructType
  protected def valueSchema: StructType

  /** Entries are found by that many of the first columns of their keys, too; None: only by whole
    * keys.
    */
  protected def keyPrefix: Option[Int] = None

  /** How Spark stores keys. */
  private def keyEncoder: KeyStateEncoderSpec = CellStores.keyEncoder(keySchema, keyPrefix)

  /** The text that is recorded when the first batch is planned. */
  protected def properties: String

  /** Throws if this plan cannot continue a state with the recorded text. */
  protected def checkProperties(recorded: String, checkpoint: String): Unit

  /** Name and meaning of each figure of `customMetrics`; all are sums over the cells. */
  protected def figures: Seq[(String, String)]

  /** The folder of the query's checkpoint. */
  protected def checkpoint: String = new Path(getStateInfo.checkpointLocation).getParent.toString

  /** Runs `f` on each partition of `rows` with its store, opened at the version of `stateInfo` and
    * aborted unless committed.
    */
  final protected def mapCells(rows: RDD[InternalRow])(
      f: (CellStore, Iterator[InternalRow]) => Iterator[InternalRow]
  ): RDD[InternalRow] = {
    val cells = rows.mapPartitionsWithStateStore(
      getStateInfo,
      keySchema,
      valueSchema,
      keyEncoder,
      session.sessionState,
      Some(session.streams.stateStoreCoordinator)
    )((store, rows) => f(new CellStore(store), rows))
    new LoadedCells(cells, unloadable)
  }

  /** The error to throw if a cell's store cannot be loaded; called in its task. */
  protected def unloadable: (Int, Throwable) => Throwable

  /** Adds the figures of Spark's store to the operator's metrics; returns its numbers of entries
    * and bytes.
    */
  final protected def addStoreMetrics(store: CellStore): (Long, Long) = {
    val (rows, memory) = (longMetric("numTotalStateRows"), longMetric("stateMemory"))
    val before = (rows.value, memory.value)
    setStoreMetrics(store.store)
    (rows.value - before._1, memory.value - before._2)
  }

  /** The sum of a figure over the operators below, up to other operators with state, which count
    * their own.
    */
  final protected def sumBelow(metric: String): Long = below.flatMap(_.metrics.get(metric)).map(_.value).sum

  /** The operators below, up to other operators with state. */
  final protected def below: Seq[SparkPlan] = StatefulCells.below(this)

  final override protected def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] =
    figures.map { case (name, meaning) => StatefulOperatorCustomSumMetric(name, meaning) }

  final override def operatorStateMetadataVersion: Int = 2

  final override def operatorStateMetadata(stateSchemaPaths: List[List[String]]): OperatorStateMetadata = {
    val info = getStateInfo
    OperatorStateMetadataV2(
      OperatorInfoV1(info.operatorId, shortName),
      Array(StateStoreMetadataV2(StateStoreId.DEFAULT_STORE_NAME, 0, info.numPartitions, stateSchemaPaths.head)),
      properties
    )
  }

  final override def validateNewMetadata(
      oldMetadata: OperatorStateMetadata,
      newMetadata: OperatorStateMetadata
  ): Unit = oldMetadata match {
    case OperatorStateMetadataV2(_, _, recorded) => checkProperties(recorded, checkpoint)
    case _ =>
  }

  /** The checkpoint ids of the last action. Each action of a `foreachBatch` commits anew; the next
    * batch starts from the last one.
    */
  final override def getStateStoreCheckpointInfo(): Array[StatefulOpStateStoreCheckpointInfo] =
    checkpointInfoAccumulator.value.asScala.toSeq.groupBy(_.partitionId).toSeq.sortBy(_._1).map(_._2.last).toArray

  /** Writes the schema of the store for the first time, or checks it against the existing one.
    * Metadata version 2 requires schema format 3, each schema a file of its own named in the
    * metadata.
    */
  final override def validateAndMaybeEvolveStateSchema(
      hadoop: Configuration,
      batch: Long,
      stateSchemaVersion: Int
  ): List[StateSchemaValidationResult] = {
    val schema = StateStoreColFamilySchema(
      StateStore.DEFAULT_COL_FAMILY_NAME,
      keySchemaId = 0,
      keySchema,
      valueSchemaId = 0,
      valueSchema,
      Some(keyEncoder)
    )
    List(StateSchemaCompatibilityChecker.validateAndMaybeEvolveStateSchema(
      getStateInfo,
      hadoop,
      List(schema),
      session.sessionState,
      StateSchemaCompatibilityChecker.SCHEMA_FORMAT_V3,
      storeName = StateStoreId.DEFAULT_STORE_NAME,
      oldSchemaFilePaths = oldSchemas(hadoop, batch),
      newSchemaFilePath = Some(new Path(stateSchemaDirPath(), s"${batch}_${UUID.randomUUID()}"))
    ))
  }

  /** Schema files that the metadata in force names, which the next metadata names again; none if
    * there is no metadata yet, or it cannot be read: then the file of this batch is the only one.
    */
  private def oldSchemas(hadoop: Configuration, batch: Long): List[Path] =
    try
      OperatorStateMetadataReader
        .createReader(
          new Path(getStateInfo.checkpointLocation, getStateInfo.operatorId.toString),
          hadoop, /* version of the format */ 2,
          batch
        )
        .read() match {
        case Some(v2: OperatorStateMetadataV2) =>
          v2.stateStoreInfo.head.stateSchemaFilePaths.map(new Path(_))
        case _ => Nil
      }
    catch { case NonFatal(_) => Nil }
}

private object StatefulCells {

  /** The operators below, each before those below it, without stateful ones and what is below
    * these.
    */
  private def below(operator: SparkPlan): Seq[SparkPlan] = operator.children.flatMap {
    case _: StateStoreWriter => Nil
    case plan => plan +: below(plan)
  }
}
