package io.joinless.spark.exec.groups

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.exec.operator.{AtEnd, InTasks, LaggingCells, LateRows, NetChanges, ReadInParts}
import io.joinless.spark.plans.reasons.WindowTexts
import io.joinless.spark.plans.values.{Addition, DeltaForm, GroupFunction}
import io.joinless.spark.spec.{GroupFormat, GroupShape}
import io.joinless.spark.state.groups.{GroupArgument, StoredGroups}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference, AttributeSet}
import org.apache.spark.sql.catalyst.plans.physical.{
  Distribution,
  Partitioning,
  UnknownPartitioning,
  UnspecifiedDistribution
}
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.joinless.{CellStore, GroupExchange, StateInfo, Watermarks}
import org.apache.spark.sql.streaming.StateOperatorProgress
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.util.CollectionAccumulator

/** A GROUP BY whose state is kept: totals of groups, as a batch changes them, in; changed groups
  * out, the old values with weight −1, the new ones with weight 1.
  * {{{
  * weighted rows ─► PartialGroupsExec ─► exchange by group ─► GroupsExec ─► changed groups
  *                  a row per group                           │    ▲
  *                                                            ▼    │  group ─► totals
  *                                                     state store of Spark
  * }}}
  * ''Invariants'': a group is in the store exactly if it has rows (without grouping columns:
  * always). A deleted row was emitted before, with the same bytes: both are computed from the same
  * totals. A group whose values stay the same is not emitted. Where groups close
  * ([[ClosingGroups]]), input is append-only, and a group is emitted once; it is in the store until
  * then.
  *
  * ''Cost'' of a batch: one read and one write of the store per group that it touches; memory
  * linear in those. The store is linear in the groups, and need not be in memory (RocksDB).
  */
final case class GroupsExec(
    shape: GroupShape,
    functions: Seq[GroupFunction],
    output: Seq[Attribute],
    stateInfo: Option[StateInfo],
    child: SparkPlan,
    watermarks: Option[Watermarks] = None,
    override val lag: Long = 0L
) extends LaggingCells with NetChanges with ReadInParts {

  override def shortName: String = GroupFormat.OperatorName

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  /** The exchange by group is below this operator already. */
  override def requiredChildDistribution: Seq[Distribution] = Seq(UnspecifiedDistribution)

  override protected def stringArgs: Iterator[Any] = Iterator(shape.text) ++ stateInfo

  override protected def figures: Seq[(String, String)] = GroupsExec.Figures

  override protected def keySchema: StructType = StoredGroups.keySchema(shape)

  override protected def keyPrefix: Option[Int] = StoredGroups.keyPrefix(shape)

  override protected def valueSchema: StructType = StoredGroups.ValueSchema

  override protected def properties: String = GroupFormat.toJson(shape)

  /** The strategy compared both shapes before anything was written; this check is an assertion. */
  override protected def checkProperties(recorded: String, checkpoint: String): Unit =
    GroupFormat.difference(GroupFormat.fromJson(recorded, checkpoint), shape).foreach { what =>
      throw JoinlessErrors.stateMismatch(Mismatch.Query, checkpoint, what)
    }

  override private[exec] def addition(form: DeltaForm, projected: Seq[Int]): Addition =
    Addition(shape, form, projected)

  override private[exec] def retracts: Boolean = !shape.isClosing

  /** Reports of partitions at their commits, one per action of a `foreachBatch`. */
  private lazy val commits: CollectionAccumulator[GroupSizes] = sparkContext.collectionAccumulator[GroupSizes]

  /** The last report of each partition that has committed. */
  private def committed: Seq[GroupSizes] = commits.value.asScala.toSeq.groupBy(_.partition).values.map(_.last).toSeq

  override def parts: Int = getStateInfo.numPartitions

  override def partsLeft: Int = parts - committed.size

  /** Rows that were too late for their groups, of all actions. */
  private lazy val late: SQLMetric = SQLMetrics.createMetric(sparkContext, "rows too late for their groups")

  /** Reports sizes after the last action, and late rows of all actions. Some late rows are dropped
    * where they are read.
    */
  override def getProgress(): StateOperatorProgress = {
    val sizes = committed
    longMetric("numRowsDroppedByWatermark").set(late.value + sumBelow(LateRows.RowsDropped))
    longMetric("numTotalStateRows").set(sizes.map(_.groups).sum)
    longMetric("stateMemory").set(sizes.map(_.bytes).sum)
    val progress = super.getProgress()
    val droppedAtScans = LateRows.byTimes(below)
    val lateByTimes =
      if (late.value > 0) droppedAtScans.updated(closing, droppedAtScans.getOrElse(closing, 0L) + late.value)
      else droppedAtScans
    for ((times, n) <- lateByTimes) progress.customMetrics.put(LateRows.lateOf(times), n)
    progress
  }

  /** The columns by which its groups close; of a union's parts, one or the other. */
  private def closing: String = shape.closes.map { time =>
    WindowTexts.short(shape.columns(time.ordinal).name).replace(" UNION ALL ", " or ")
  }.mkString(", ")

  /** Whether groups would close in a batch without data. */
  override def shouldRunAnotherBatch(newInputWatermark: Long): Boolean =
    committed.exists(_.nextClose <= newInputWatermark)

  /** Runs a task per partition. Watermarks are read here, on the driver; without closing groups
    * nothing is late.
    */
  override protected def doExecute(): RDD[InternalRow] = {
    metrics // made on the driver, like the accumulators
    commits
    late
    val times = watermarks.filter(_ => shape.isClosing)
    val (upTo, eviction) = (times.fold(Long.MinValue)(_.lateMs), times.fold(Long.MinValue)(_.evictionMs))
    val inTasks = new InTasks(this)
    mapCells(child.execute())((store, rows) => inTasks.operator.runPartition(store, rows, upTo, eviction))
  }

  /** One batch of one partition, in its task: reads all rows at once, and commits when the last
    * change was read.
    *
    * @param upTo rows of groups that close at this watermark or before are late
    * @param eviction the watermark at which this batch closes groups
    */
  private def runPartition(
      store: CellStore,
      rows: Iterator[InternalRow],
      upTo: Long,
      eviction: Long
  ): Iterator[InternalRow] = {
    val task = GroupsTasks(shape, functions, store, rows, upTo, eviction)
    longMetric("allUpdatesTimeMs") += timeTakenMs(task.read())
    AtEnd(task.changes) {
      longMetric("commitTimeMs") += timeTakenMs(store.commit())
      longMetric("numUpdatedStateRows") += task.changed
      longMetric("numRemovedStateRows") += task.removed
      longMetric("numOutputRows") += task.emitted
      longMetric(GroupsExec.RowsOut) += task.emitted
      longMetric(GroupsExec.GroupsTouched) += task.touched
      late += task.late
      val (entries, bytes) = addStoreMetrics(store)
      val groups = if (task.nextClose == Long.MaxValue) entries else entries - 1
      commits.add(GroupSizes(store.cell, groups, bytes, task.nextClose))
      setOperatorMetrics()
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): GroupsExec = copy(child = newChild)
}

/** The number of groups of a partition when it commits, the memory of its store, and the time when
  * the next of them closes.
  */
final case class GroupSizes(partition: Int, groups: Long, bytes: Long, nextClose: Long)

object GroupsExec {
  final val RowsOut = "rowsOut"
  final val GroupsTouched = "groupsTouched"

  /** Name and meaning of each figure, in the order of the documentation. */
  val Figures: Seq[(String, String)] = Seq(
    GroupsTouched -> "groups of which rows were inserted or deleted",
    RowsOut -> "rows of changed groups, old and new"
  )

  /** The rows of groups as changes: partial totals, an exchange by group, and the operator.
    *
    * @param drawn the operator's state; None if no query runs
    */
  def over(
      rows: SparkPlan,
      functions: Seq[GroupFunction],
      shape: GroupShape,
      output: Seq[Attribute],
      partitions: Int,
      drawn: Option[StateInfo],
      watermarks: Option[Watermarks],
      lag: Long
  ): SparkPlan = {
    val keys = shape.columns.size
    val sent = rows.output.take(keys).map(_.newInstance().withNullability(true)) :+
      AttributeReference("totals", BinaryType, nullable = false)()
    val partial = PartialGroupsExec(GroupArgument.of(functions, shape), keys, sent, rows)
    val parts = if (keys == 0) 1 else partitions
    GroupsExec(
      shape,
      functions,
      output,
      drawn.map(_.copy(numPartitions = parts)),
      GroupExchange(partial, sent.take(keys), parts),
      watermarks,
      lag
    )
  }
}
