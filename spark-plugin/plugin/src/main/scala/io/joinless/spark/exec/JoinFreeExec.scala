package io.joinless.spark.exec

import io.joinless.engine.view.ViewTree
import io.joinless.spark.JoinlessConf
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.explain.ViewTreePlan
import io.joinless.spark.plans.BlockSpec
import io.joinless.spark.state._
import io.joinless.spark.strategy.SpecComparison
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.{InterruptibleIterator, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.physical.{
  ClusteredDistribution,
  Distribution,
  Partitioning,
  UnknownPartitioning
}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.streaming.operators.stateful.{
  StateStoreWriter,
  StatefulOpStateStoreCheckpointInfo,
  StatefulOperatorCustomMetric,
  StatefulOperatorStateInfo
}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.joinless.StateStores
import org.apache.spark.sql.streaming.StateOperatorProgress
import org.apache.spark.util.CollectionAccumulator
import scala.jdk.CollectionConverters._

/** The join-free operator: a join block's stateful node, one task per cell and batch.
  *
  * Child rows are those of [[RolesAndCellsExec]], partitioned by cell by one exchange. A task checks the cell's view tree out
  * of the executor's cache, or rebuilds it from the cell's log; sends its rows through [[CellTask]] or, where the block has
  * a changelog, [[ChangelogTask]]; when the output is drained it commits the log and checks the tree in. The state store
  * holds the log of changes and nothing else; the spec lies in the operator metadata.
  *
  * `residuals(j)` is a predicate over `BoundReference`s into `spec.residuals(j).columns`; `output` matches `spec.output`, and
  * with `deltas` one more column follows, the weight of the change (BIGINT NOT NULL, never 0).
  * `stateInfo` is None where no query runs (explain). Late rows are dropped at their scan; stored rows do not
  * expire; the output watermark is the input's.
  */
final case class JoinFreeExec(
    spec: BlockSpec,
    residuals: Seq[Expression],
    output: Seq[Attribute],
    stateInfo: Option[StatefulOperatorStateInfo],
    child: SparkPlan,
    deltas: Boolean = false
) extends UnaryExecNode with StateStoreWriter {

  override def shortName: String = StateFormat.OperatorName

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning = UnknownPartitioning(spec.cells)

  /** Rows of a cell together, in as many partitions as there are cells: the exchange by cell satisfies it, so Spark adds none. */
  override def requiredChildDistribution: Seq[Distribution] =
    Seq(ClusteredDistribution(Seq(child.output.head), requireAllClusterKeys = true, Some(spec.cells)))

  override protected def stringArgs: Iterator[Any] =
    Iterator(spec.relations.map(_.name).mkString("[", ", ", "]"), s"${spec.cells} cells") ++ stateInfo

  /** The views, each with its columns: plan texts print them below the operator. */
  override def innerChildren: Seq[QueryPlan[_]] =
    if (new JoinlessConf(conf).explainEnabled) Seq(ViewTreePlan.of(spec)) else Nil

  override protected def customStatefulOperatorMetrics: Seq[StatefulOperatorCustomMetric] = OperatorMetrics.definitions

  override def validateAndMaybeEvolveStateSchema(
      hadoopConf: Configuration,
      batchId: Long,
      stateSchemaVersion: Int
  ): List[StateSchemaValidationResult] = List(
    StateStores.checkSchema(
      getStateInfo,
      session,
      hadoopConf,
      batchId,
      stateSchemaDirPath(),
      ChangeLog.KeySchema,
      ChangeLog.ValueSchema
    )
  )

  override def operatorStateMetadataVersion: Int = 2

  override def operatorStateMetadata(stateSchemaPaths: List[List[String]]): OperatorStateMetadata = {
    val info = getStateInfo
    OperatorStateMetadataV2(
      OperatorInfoV1(info.operatorId, shortName),
      Array(StateStoreMetadataV2(StateStoreId.DEFAULT_STORE_NAME, 0, info.numPartitions, stateSchemaPaths.head)),
      StateFormat.toJson(spec)
    )
  }

  /** The strategy has compared both specs before anything was written; this only makes sure. */
  override def validateNewMetadata(oldMetadata: OperatorStateMetadata, newMetadata: OperatorStateMetadata): Unit =
    oldMetadata match {
      case OperatorStateMetadataV2(_, _, json) =>
        val checkpoint = new Path(getStateInfo.checkpointLocation).getParent.toString
        val recorded = StateFormat.fromJson(json, checkpoint)
        val difference = SpecComparison.difference(recorded, spec).orElse(
          Option.when(recorded.tree != spec.tree || recorded.shares != spec.shares)(
            Mismatch.Tree -> "Its join tree or shares are not those of the plan."
          )
        )
        difference.foreach { case (kind, what) => throw JoinlessErrors.stateMismatch(kind, checkpoint, what) }
      case _ =>
    }

  /** Each action of a `foreachBatch` commits anew; the last one is what the next batch starts from. */
  override def getStateStoreCheckpointInfo(): Array[StatefulOpStateStoreCheckpointInfo] =
    checkpointInfoAccumulator.value.asScala.toSeq.groupBy(_.partitionId).toSeq.sortBy(_._1).map(_._2.last).toArray

  /** What cells told when they committed, once per action of a `foreachBatch`. */
  private lazy val commits: CollectionAccumulator[CellSizes] = sparkContext.collectionAccumulator[CellSizes]

  private def committed: Seq[CellSizes] = CellSizes.lastOfEachCell(commits.value.asScala.toSeq)

  /** How many cells did not commit: nothing read all of their rows. */
  def cellsLeft: Int = spec.cells - committed.size

  /** Sizes are those after the last action, other figures those of all actions. Late rows are dropped where they are scanned;
    * users look for them at the operator.
    */
  override def getProgress(): StateOperatorProgress = {
    val sizes = committed
    longMetric("numTotalStateRows").set(sizes.map(_.rows).sum)
    longMetric("stateMemory").set(sizes.map(cell => cell.bytes + cell.storeBytes).sum)
    CellSizes.figures(sizes).foreach { case (name, size) => longMetric(name).set(size) }
    def ofScans(metric: String) = child.collect { case scan: RolesAndCellsExec => scan.longMetric(metric).value }.sum
    longMetric("numRowsDroppedByWatermark").set(ofScans(RolesAndCellsExec.RowsDropped))
    longMetric(OperatorMetrics.KeyErrors).set(ofScans(OperatorMetrics.KeyErrors))
    super.getProgress()
  }

  override protected def doExecute(): RDD[InternalRow] = {
    metrics // made on the driver, like the accumulator
    commits
    val confs = new JoinlessConf(conf)
    val (cacheEnabled, cacheMaxBytes, owe) = (confs.cacheEnabled, confs.cacheMaxBytes, confs.absentRowsOwed)
    StateStores.mapPartitions(child.execute(), getStateInfo, session, ChangeLog.KeySchema, ChangeLog.ValueSchema) {
      (store, rows) => runCell(store, rows, cacheEnabled, JoinlessConf.boundOfCache(cacheMaxBytes), owe)
    }
  }

  private def runCell(
      store: StateStore,
      rows: Iterator[InternalRow],
      cacheEnabled: Boolean,
      limit: Long,
      owe: Boolean
  ): Iterator[InternalRow] = {
    val context = TaskContext.get()
    val info = getStateInfo
    val cell = store.id.partitionId
    val figures = new TaskMetrics
    val base = StateVersion(info.queryRunId, info.storeVersion, info.getStateStoreCkptId(cell).map(_.head))
    val lease = ViewTreeCache.executor.checkOut(CellId(info.checkpointLocation, info.operatorId, cell), base)
    var task: BatchTask = null
    context.addTaskCompletionListener[Unit] { context =>
      // a limit above had enough of the rows: another action may want them all
      if (cacheEnabled && task != null && !context.isFailed() && !context.isInterrupted())
        task.takeBack().foreach(lease.checkIn(_, base, limit))
      lease.release()
    }

    def checkSize(bytes: Long): Unit = {
      lease.resize(bytes, limit)
      if (bytes > limit) throw JoinlessErrors.stateTooLarge(cell, bytes, limit)
    }

    def commit(now: CachedTree, undo: Undo): Unit = {
      figures.commitNanos = nanosOf { val _ = store.commit() }
      val bytes = now.bytes
      if (cacheEnabled) {
        val id = store.getStateStoreCheckpointInfo().stateStoreCkptId
        lease.checkIn(now, base.copy(version = base.version + 1, checkpointId = id), limit, Some(base -> undo))
        CacheSweeper.start()
      } else lease.release()
      report(store, cell, now.tree, bytes, figures)
    }

    val start = lease.cached.getOrElse {
      var rebuilt: CachedTree = null
      longMetric(OperatorMetrics.RebuildMs) += nanosOf {
        rebuilt = rebuild(store, cell, info.storeVersion, checkSize)
      } / 1000000
      if (info.storeVersion > 0) longMetric(OperatorMetrics.Rebuilds) += 1
      rebuilt
    }
    // told at once: a task whose rows nobody reads to the end has no later moment
    if (lease.cached.isDefined) longMetric(OperatorMetrics.CacheHits) += 1
    if (lease.tookBack) longMetric(OperatorMetrics.BatchesTakenBack) += 1
    val blocks = StateStores.blocks(store)
    val reader = logReader(cell, info.storeVersion)
    task =
      if (spec.retractable)
        new ChangelogTask(spec, residuals, cell, start, rows, blocks, reader, owe, checkSize, commit, figures)
      else new CellTask(spec, residuals, cell, start, rows, blocks, reader, checkSize, commit, figures, deltas)
    new InterruptibleIterator(context, task)
  }

  private def rebuild(store: StateStore, cell: Int, version: Long, checkSize: Long => Unit): CachedTree =
    if (version == 0) CellTask.empty(spec)
    else {
      val blocks = store.iterator()
      try CellTask.rebuild(spec, logReader(cell, version), blocks.map(pair => (pair.key, pair.value)), checkSize)
      finally blocks.close()
    }

  private def logReader(cell: Int, version: Long): ChangeLogReader =
    new ChangeLogReader(spec, cell, (block, what) => JoinlessErrors.corruptBlock(block, cell, version - 1, what))

  /** The store counts blocks and its own memory; users count rows, and what the operator holds. */
  private def report(store: StateStore, cell: Int, tree: ViewTree, bytes: Long, figures: TaskMetrics): Unit = {
    figures.report(tree, longMetric)
    longMetric("numOutputRows") += figures.rowsOut
    longMetric("numUpdatedStateRows") += figures.rowsIn
    longMetric("numRemovedStateRows") += figures.rowsRemoved
    longMetric("allUpdatesTimeMs") += (figures.propagate.nanos + figures.enumerate.nanos) / 1000000
    longMetric("commitTimeMs") += figures.commitNanos / 1000000
    val (stateRows, stateMemory) = (longMetric("numTotalStateRows"), longMetric("stateMemory"))
    val (rows, memory) = (stateRows.value, stateMemory.value)
    setStoreMetrics(store)
    val sizes = CellSizes(cell, tree, bytes, stateMemory.value - memory, figures)
    commits.add(sizes)
    CellSizes.figures(Seq(sizes)).foreach { case (name, size) => longMetric(name) += size }
    stateRows += sizes.rows - (stateRows.value - rows)
    stateMemory += bytes
    setOperatorMetrics()
  }

  private def nanosOf(body: => Unit): Long = {
    val start = System.nanoTime()
    body
    System.nanoTime() - start
  }

  override protected def withNewChildInternal(newChild: SparkPlan): JoinFreeExec = copy(child = newChild)
}
