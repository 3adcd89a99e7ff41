package io.joinless.spark.exec

import scala.jdk.CollectionConverters._

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.exec.cells.{CellContext, CellKinds, CellTask, LogReplay}
import io.joinless.spark.exec.figures.{CellSizes, OperatorMetrics, RelationSizes, TaskMetrics}
import io.joinless.spark.exec.operator.{InTasks, LaggingCells, LateRows, NetChanges, ReadInParts}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.{Addition, DeltaForm}
import io.joinless.spark.spec.{BlockSpec, SpecComparison, StateFormat}
import io.joinless.spark.state.cells.{CacheSweeper, CellId, CellState, StateVersion, Undo, ViewTreeCache}
import io.joinless.spark.state.log.{ChangeLog, ChangeLogReader}
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
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.joinless.{CellStore, StateInfo, Watermarks}
import org.apache.spark.sql.streaming.StateOperatorProgress
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.CollectionAccumulator
import org.apache.spark.{InterruptibleIterator, TaskContext}

/** The join-free operator: a join block's stateful node, one task per cell and batch.
  * {{{
  *   scan of e, roles a and b        scan of f, role c
  *     RolesAndCellsExec               RolesAndCellsExec      a row once per cell, with its roles
  *             └───────────┬───────────────────┘
  *                  exchange by cell                          one partition, one store per cell
  *                         │
  *   ┌─ cell 2, batch 7 ───▼──────────────────────────────┐
  *   │ tree at version 7: from the cache, as it is or     │
  *   │   rolled back from version 8; else from the log    │
  *   │ rows ─► CellTask ──────────────────────────────────┼─► result rows, on demand
  *   │ all read: blocks of the log ─► store, commit       │
  *   │ committed: tree, undo ─► cache, as version 8       │
  *   └────────────────────────────────────────────────────┘
  * }}}
  * ''Computes'' the change of the join of all relations by the batch: inserted rows if all inputs
  * are append-only (`RowByRowTask`, streaming), net changes with weights if one is a changelog
  * (`NettedTask`, the batch in memory). Child rows are those of [[RolesAndCellsExec]]. Three
  * hops over the edges (1,2), (2,3) and, in the next batch, (3,4):
  * {{{
  * a JOIN b ON a.dst = b.src JOIN c ON b.dst = c.src
  * two cells by a.dst: 2 and 4 in cell 0, 1 and 3 in cell 1
  *
  *                     cell 0                    cell 1
  * batch 0   (1,2)     as a and c                as b and c       c has no a.dst: sent to both
  *           (2,3)     as b and c                as a and c
  * batch 1   (3,4)     as a and c                as b and c
  *                     emits (1,2) (2,3) (3,4)   emits nothing: no c starts at 4
  * }}}
  *
  * ''Invariants'': each result is emitted by exactly one cell (P3). The store holds the log of
  * changes and nothing else, and only its committed content is read back (P6). The tree in the
  * cache is that of exactly one version of the store, so a failed, killed or speculative attempt,
  * which never checks its tree in, costs a rebuild and nothing else (P17). The spec is stored in
  * the operator metadata.
  *
  * ''Cost'' of a batch: its rows, the steps they take (algorithms A5) and its results; stored data
  * is not read while the tree is in the cache. A rebuild costs the log of the cell once. Memory is
  * linear in the stored rows ([[io.joinless.engine.view.ViewTree]]).
  *
  * `residuals(j)` is a predicate over `BoundReference`s into `spec.residuals(j).columns`. `output`
  * matches `spec.output`; with `deltas` one more column follows, the weight of the change (BIGINT
  * NOT NULL, never 0). `stateInfo` is None if no query runs (explain). `viewLines` are lines of the
  * plan text that show the view tree; they are never executed.
  *
  * Late rows are dropped at their scan. Stored rows are evicted when they can be part of no further
  * result (`ForgettingCell`), and without a delete they are removed in no other case. So a batch
  * without data is of use only if the watermark has passed a time at which some row is evicted. A
  * row that is kept beyond its own time can give results whose times lie below the watermark.
  * Therefore the output watermark is lower than the watermark where such results are possible.
  */
final case class JoinFreeExec(
    spec: BlockSpec,
    residuals: Seq[Expression],
    output: Seq[Attribute],
    stateInfo: Option[StateInfo],
    child: SparkPlan,
    deltas: Boolean = false,
    watermarks: Option[Watermarks] = None,
    override val lag: Long = 0L,
    notes: Seq[Reason] = Nil,
    @transient viewLines: Seq[QueryPlan[_]] = Nil
) extends LaggingCells with NetChanges with ReadInParts {

  override def shortName: String = StateFormat.OperatorName

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning = UnknownPartitioning(spec.cells)

  /** All rows of a cell in one partition, in as many partitions as there are cells. The exchange by
    * cell satisfies this, so Spark adds none.
    */
  override def requiredChildDistribution: Seq[Distribution] =
    Seq(ClusteredDistribution(Seq(child.output.head), requireAllClusterKeys = true, Some(spec.cells)))

  override protected def stringArgs: Iterator[Any] =
    Iterator(spec.relations.map(_.name).mkString("[", ", ", "]"), s"${spec.cells} cells") ++ stateInfo

  /** Plan texts print the views, each with its columns, below the operator. */
  override def innerChildren: Seq[QueryPlan[_]] = viewLines

  override protected def figures: Seq[(String, String)] = OperatorMetrics.all

  override protected def keySchema: StructType = ChangeLog.KeySchema

  override protected def valueSchema: StructType = ChangeLog.ValueSchema

  override protected def properties: String = StateFormat.toJson(spec)

  /** The strategy compared both specs before anything was written; this check is an assertion. */
  override protected def checkProperties(recorded: String, checkpoint: String): Unit = {
    val before = StateFormat.fromJson(recorded, checkpoint)
    val difference = SpecComparison.difference(before.shape, spec.shape).orElse(
      Option.when(before.tree != spec.tree || before.shares != spec.shares)(
        Mismatch.Tree -> "Its join tree or shares are not those of the plan."
      )
    )
    difference.foreach { case (kind, what) => throw JoinlessErrors.stateMismatch(kind, checkpoint, what) }
  }

  /** Reports of cells at their commits, one per action of a `foreachBatch`. */
  private lazy val commits: CollectionAccumulator[CellSizes] = sparkContext.collectionAccumulator[CellSizes]

  /** The last report of each cell that has committed. */
  private def committed: Seq[CellSizes] = CellSizes.lastOfEachCell(commits.value.asScala.toSeq)

  override def parts: Int = spec.cells

  /** A cell commits when it was read to its end. */
  override def partsLeft: Int = spec.cells - committed.size

  @transient private lazy val kind = CellKinds.of(spec)

  override private[exec] def retracts: Boolean = kind.isWeighted

  override private[exec] def addition(form: DeltaForm, projected: Seq[Int]): Addition =
    Addition(spec, form, projected)

  /** Reports sizes after the last action, and other figures of all actions. Late rows are dropped
    * where they are scanned; users look for them at the operator.
    */
  override def getProgress(): StateOperatorProgress = {
    val sizes = committed
    longMetric("numTotalStateRows").set(sizes.map(_.rows).sum)
    longMetric("stateMemory").set(sizes.map(cell => cell.bytes + cell.storeBytes).sum)
    CellSizes.figures(sizes).foreach { case (name, size) => longMetric(name).set(size) }
    longMetric("numRowsDroppedByWatermark").set(sumBelow(LateRows.RowsDropped))
    longMetric(OperatorMetrics.KeyErrors).set(sumBelow(OperatorMetrics.KeyErrors))
    val rows = RelationSizes(spec, sizes.map(_.inputs))
    longMetric(OperatorMetrics.StepsSaved).set(RelationSizes.percentSaved(spec.shape, rows))
    val progress = super.getProgress()
    for ((relation, n) <- spec.relations.zip(rows)) progress.customMetrics.put(OperatorMetrics.rowsOf(relation.name), n)
    // with conditions on results it is that of the combinations that are checked
    if (spec.residuals.isEmpty)
      CellSizes.results(sizes).foreach(n => progress.customMetrics.put(OperatorMetrics.ResultSize, n))
    for ((times, n) <- LateRows.byTimes(below)) progress.customMetrics.put(LateRows.lateOf(times), n)
    for (note <- notes; (_, time) <- note.arguments.find(_._1 == "time"))
      progress.customMetrics.put(OperatorMetrics.anyAgeOf(time), 1L)
    progress
  }

  /** Whether rows would be evicted in a batch without data. */
  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    committed.exists(_.nextEnd <= newInputWatermark)

  /** Runs a task per cell. Settings and watermarks are read here, on the driver. */
  override protected def doExecute(): RDD[InternalRow] = {
    metrics // made on the driver, like the accumulator
    commits
    val confs = new JoinlessConf(conf)
    val (cacheEnabled, cacheMaxBytes, negatives) = (confs.cacheEnabled, confs.cacheMaxBytes, confs.negativesAllowed)
    val times = watermarks.filter(_ => kind.endsRows(spec))
    val (late, eviction) =
      (times.fold(Long.MinValue)(_.lateMs), times.fold(Long.MinValue)(_.evictionMs))
    val inTasks = new InTasks(this)
    mapCells(child.execute()) { (store, rows) =>
      inTasks.operator.runCell(
        store,
        rows,
        cacheEnabled,
        JoinlessConf.boundOfCache(cacheMaxBytes),
        negatives,
        late,
        eviction
      )
    }
  }

  /** One batch in one cell, in its task: takes the state from the cache or rebuilds it, and hands
    * it with the rows to a task of the cell's kind. When the last result was read, that task calls
    * `commitCell`. A task that did not fail but is not read to its end is rolled back by the
    * listener.
    *
    * @param late rows with times up to this watermark are late
    * @param eviction the watermark by which this batch evicts rows
    */
  private def runCell(
      store: CellStore,
      rows: Iterator[InternalRow],
      cacheEnabled: Boolean,
      limit: Long,
      negatives: Boolean,
      late: Long,
      eviction: Long
  ): Iterator[InternalRow] = {
    val context = TaskContext.get()
    val info = getStateInfo
    val cell = store.cell
    val measured = new TaskMetrics
    val base = StateVersion(info.queryRunId, info.storeVersion, info.getStateStoreCkptId(cell).map(_.head))
    val lease = ViewTreeCache.executor.checkOut(CellId(info.checkpointLocation, info.operatorId, cell), base)
    var task: CellTask = null
    context.addTaskCompletionListener[Unit] { context =>
      // a LIMIT above had enough rows: another action may want them all
      if (cacheEnabled && task != null && !context.isFailed() && !context.isInterrupted())
        task.rollBack().foreach(lease.checkIn(_, base, limit))
      lease.release()
    }

    /** Notes the bytes that the state has reached; an error if they exceed the bound. */
    def checkSize(bytes: Long): Unit = {
      lease.resize(bytes, limit)
      if (bytes > limit) throw JoinlessErrors.stateTooLarge(cell, bytes, limit)
    }

    val start = lease.cached.getOrElse {
      var rebuilt: CellState = null
      longMetric(OperatorMetrics.RebuildMs) += nanosOf {
        // the batch before has evicted up to the watermark by which rows are late now
        rebuilt = rebuild(store, cell, info.storeVersion, checkSize, late)
      } / 1000000
      if (info.storeVersion > 0) longMetric(OperatorMetrics.Rebuilds) += 1
      rebuilt
    }

    /** Ends the batch of this cell: commits the store, then keeps the views for the next batch,
      * unless most of their room is not used (then a rebuild makes smaller ones).
      *
      * @param undo makes of the new state that of the batch before, should this batch be repeated
      */
    def commitCell(after: CellState, undo: Undo): Unit = {
      after.follows(start)
      measured.commitNanos = nanosOf(store.commit())
      report(store, cell, after, measured) // while the state is this task's own
      if (cacheEnabled && !after.isRoomy) {
        val committed = base.copy(version = base.version + 1, checkpointId = store.checkpointId)
        lease.checkIn(after, committed, limit, Some(base -> undo))
        CacheSweeper.start()
      } else lease.release()
    }

    // counted at once: a task whose rows nobody reads to the end has no later moment
    if (lease.cached.isDefined) longMetric(OperatorMetrics.CacheHits) += 1
    if (lease.rolledBack) longMetric(OperatorMetrics.BatchesRolledBack) += 1
    val reader = logReader(cell, info.storeVersion)
    val work =
      CellContext(
        spec,
        residuals,
        cell,
        store,
        reader,
        checkSize,
        commitCell,
        measured,
        deltas,
        negatives,
        eviction,
        info.storeVersion
      )
    task = kind.task(work, start, rows)
    new InterruptibleIterator(context, task)
  }

  /** The state at a version of the store, from all blocks of the log; an empty one at version 0. */
  private def rebuild(
      store: CellStore,
      cell: Int,
      version: Long,
      checkSize: Long => Unit,
      evicted: Long
  ): CellState =
    if (version == 0) kind.empty(spec)
    else store.read(blocks =>
      kind.rebuild(new LogReplay(spec, logReader(cell, version), blocks, checkSize, evicted))
    )

  /** The reader of a cell's log at a version of the store, which is that after batch `version − 1`.
    */
  private def logReader(cell: Int, version: Long): ChangeLogReader =
    new ChangeLogReader(spec, cell, (block, what) => JoinlessErrors.corruptBlock(block, cell, version - 1, what))

  /** Reports figures. The store counts blocks and its own memory; users count rows, and the memory
    * of the operator. `addStoreMetrics` adds the store's figures to these metrics: its blocks are
    * replaced by rows there, and the memory of the views is added to the store's.
    */
  private def report(store: CellStore, cell: Int, state: CellState, measured: TaskMetrics): Unit = {
    measured.report(state.views, longMetric)
    longMetric("numOutputRows") += measured.rowsOut
    longMetric("numUpdatedStateRows") += measured.rowsIn
    longMetric("numRemovedStateRows") += measured.rowsRemoved
    longMetric("allUpdatesTimeMs") += (measured.propagate.nanos + measured.enumerate.nanos) / 1000000
    longMetric("commitTimeMs") += measured.commitNanos / 1000000
    val (blocks, storeBytes) = addStoreMetrics(store)
    val sizes = CellSizes(cell, state, storeBytes)
    commits.add(sizes)
    CellSizes.figures(Seq(sizes)).foreach { case (name, size) => longMetric(name) += size }
    longMetric("numTotalStateRows") += sizes.rows - blocks
    longMetric("stateMemory") += sizes.bytes
    setOperatorMetrics()
  }

  /** The time that `body` takes, in nanoseconds. */
  private def nanosOf(body: => Unit): Long = {
    val start = System.nanoTime()
    body
    System.nanoTime() - start
  }

  override protected def withNewChildInternal(newChild: SparkPlan): JoinFreeExec = copy(child = newChild)
}
