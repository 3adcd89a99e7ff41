package io.joinless.spark.batches

import java.util.UUID

import scala.jdk.CollectionConverters._

import io.joinless.spark.checkpoint.{RunState, StreamContext}
import io.joinless.spark.compile.DeltaCompilation
import io.joinless.spark.exec.JoinFreeExec
import io.joinless.spark.exec.groups.GroupsExec
import io.joinless.spark.exec.operator.ReadInParts
import io.joinless.spark.spec.{BlockSpec, NodeId, SpecComparison}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.joinless.{BatchForms, BatchPlans, Plans, SessionPlans, StateInfo, StatefulCells}
import org.apache.spark.sql.{DataFrame, Dataset, Row, SparkSession}

/** The micro-batches of a streaming query over streams of files or in memory, run without a
  * streaming query.
  *
  * Each batch is analyzed, optimized and planned by Spark with the extension in it, as the batches
  * of a query are. Its operators run unchanged, over real state stores: a log that is committed,
  * view trees in the cache. Missing is the environment of a query: the thread, the listing of
  * sources, the logs of offsets and commits, the record of the operators, the sink. So a batch
  * takes a fraction of the time, and random queries are tested by the hundred.
  *
  * The plan of every batch must have the blocks of the first one, as a checkpoint would require.
  * Not for queries with stateful operators of Spark.
  *
  * @param session its confs are those of the query; views of it are streams of one of these kinds
  * @param state an empty folder for the state stores
  * @param forms plans the batches of the sources
  */
final class MicroBatches(session: SparkSession, query: DataFrame, state: String, forms: BatchForms) {

  /** With sources that give scans. */
  def this(session: SparkSession, query: DataFrame, state: String) =
    this(session, query, state, BatchForms.scans(session))

  private var run = UUID.randomUUID()
  private val plans = new SessionPlans(session)
  private val analyzed = DeltaCompilation(session, Plans.analyzed(query))
  private var decided = Option.empty[Map[NodeId, BlockSpec]]
  private var batches = 0L
  private var stateful = Seq.empty[StatefulCells]

  Seq(
    "spark.sql.streaming.unsupportedOperationCheck" -> "false",
    "spark.sql.adaptive.enabled" -> "false"
  ).foreach { case (key, value) => session.conf.set(key, value) }
  BatchPlans.beginRun(session, run)

  /** Number of join blocks of the query. */
  def blocks: Int = decided.fold(0)(_.size)

  /** As after a restart: the view trees are rebuilt from the stores. */
  def restart(): Unit = {
    close()
    run = UUID.randomUUID()
    BatchPlans.beginRun(session, run)
  }

  /** Runs the next batch.
    *
    * @param files new files in the folders of the streams; folders without any may be omitted
    * @return the rows that a sink would get
    */
  def play(files: Map[String, Seq[String]]): Seq[Row] = played(BatchPlans.of(analyzed, files, forms.next))

  /** The same over streams in memory.
    *
    * @param rows new rows per stream; the rows in the streams themselves are ignored
    */
  def playRows(rows: Map[MemoryStream[_], Dataset[_]]): Seq[Row] =
    played(BatchPlans.ofRows(session, analyzed, rows, forms.next))

  /** Whether the query reads one of them. */
  def reads(streams: Set[MemoryStream[_]]): Boolean = BatchPlans.reads(analyzed, streams)

  /** Makes the folder of the state one of a checkpoint, from which the complete result can be read.
    * Only once.
    */
  def record(checkpoint: String): Unit = BatchPlans.record(session, checkpoint, stateful, batches - 1)

  private def played(batch: => LogicalPlan): Seq[Row] = plans.active {
    val plan = planned(batch)
    val rows = plan.executeCollectPublic().toSeq
    plan.collect { case operator: ReadInParts => operator }.foreach { operator =>
      assert(operator.partsLeft == 0, s"batch $batches left partitions of $operator")
    }
    stateful = plan.collect { case operator: StatefulCells => operator }
    batches += 1
    rows
  }

  /** For Python: the same with folders and files as Java collections and the rows as a data frame.
    */
  def play(files: java.util.Map[String, java.util.List[String]]): DataFrame = {
    val rows = play(files.asScala.map { case (folder, names) => folder -> names.asScala.toSeq }.toMap)
    session.createDataFrame(rows.asJava, analyzed.schema)
  }

  def close(): Unit = BatchPlans.endRun(session, run)

  private def planned(batch: LogicalPlan): SparkPlan = {
    val as = decided.fold[RunState](RunState.Fresh) { blocks =>
      RunState.Decided(blocks.map { case (id, spec) => id -> spec.shape }, sparkOperators = false)
    }
    val plan = StreamContext.inspecting(BatchPlans.execution(session, batch).executedPlan, as)
    val specs = operators(plan).map(block => block.spec.id -> block.spec).toMap
    decided.foreach(before => assert(goOn(before, specs), s"batch $batches has other blocks: $specs, not $before"))
    decided = Some(specs)
    val numbers = Iterator.from(decided.fold(0)(_.size))
    plan.transformUp {
      case block: JoinFreeExec => block.copy(stateInfo = Some(stateOf(block.spec.id.block, block.spec.cells)))
      case groups: GroupsExec =>
        groups.copy(stateInfo = Some(stateOf(numbers.next(), groups.child.outputPartitioning.numPartitions)))
    }
  }

  /** Whether the blocks are those of the batch before; their relations may have other names, as in
    * a stream.
    */
  private def goOn(before: Map[NodeId, BlockSpec], now: Map[NodeId, BlockSpec]): Boolean =
    before.keySet == now.keySet && now.forall { case (id, spec) =>
      SpecComparison.difference(before(id).shape, spec.shape).isEmpty &&
      SpecComparison.continued(before(id), spec.shape) == spec
    }

  private def operators(plan: SparkPlan): Seq[JoinFreeExec] = plan.collect { case block: JoinFreeExec => block }

  private def stateOf(operator: Int, partitions: Int): StateInfo =
    BatchPlans.stateInfo(state, run, operator.toLong, batches, partitions)
}
