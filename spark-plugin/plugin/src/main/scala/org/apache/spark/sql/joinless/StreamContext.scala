package org.apache.spark.sql.joinless

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.plans.BlockSpec
import io.joinless.spark.rules.RunState
import io.joinless.spark.strategy.RecordedBlocks
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.AnalysisHelper
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.streaming.operators.stateful.StatefulOperatorStateInfo
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, MicroBatchExecution, StreamExecution}

/** The micro-batch that the calling thread plans, and what was decided for its run.
  *
  * A stream plans on a thread of its own, which names query and batch in local properties; `SharedState` leads from
  * there to the running `IncrementalExecution`. What a checkpoint records is read once per run; from then on, and after
  * the first planned batch of a new query, the answer is frozen.
  *
  * Private to Spark and used here: `SharedState.activeStreamingQueries`, `StreamExecution.lastExecution`, and
  * `IncrementalExecution.nextStatefulOperationStateInfo`, which is private in Scala and public in the class file because
  * an inner object calls it. Checked on 4.1.4 and 4.2.0; [[SparkMembers]] probes it.
  */
object StreamContext {

  /** A block that the checkpoint holds.
    *
    * @param operator the id of its stateful operator
    * @param partitions how many stores the operator's metadata counts
    */
  final case class Recorded(spec: BlockSpec, operator: Long, partitions: Int)

  /** What is known of a run: `recorded` by its checkpoint, `blocks` once the first batch was planned. */
  final private class Run(val recorded: Map[Int, Recorded], val sparkOperators: Boolean) {
    @volatile var blocks: Option[Map[Int, BlockSpec]] =
      Option.when(recorded.nonEmpty || sparkOperators)(recorded.map { case (ordinal, block) => ordinal -> block.spec })
  }

  private val runs = new ConcurrentHashMap[UUID, Run]
  private val inspected = ThreadLocal.withInitial[Option[RunState]](() => None)

  /** The batch that is being planned on this thread, if there is one. */
  def current(session: SparkSession): Option[IncrementalExecution] = {
    val context = session.sparkContext
    for {
      id <- Option(context.getLocalProperty(StreamExecution.QUERY_ID_KEY)) if inspected.get.isEmpty
      query <- Option(classicOf(session).sharedState.activeStreamingQueries.get(UUID.fromString(id)))
      batch <- Option(query.lastExecution)
      if batch.runId == query.runId &&
        batch.currentBatchId.toString == context.getLocalProperty(MicroBatchExecution.BATCH_ID_KEY)
    } yield batch
  }

  /** Runs `body`, which plans something only to look at it: for it there is no running batch. It may be called inside Spark's
    * analyzer, which forbids transformations otherwise, since they would visit what is resolved again and again (it says so
    * in its test mode only).
    *
    * @param as what rules are told of the run
    */
  def inspecting[A](body: => A, as: RunState = RunState.NoQuery): A = {
    val outer = inspected.get
    inspected.set(Some(as))
    try AnalysisHelper.allowInvokingTransformsInAnalyzer(body)
    finally inspected.set(outer)
  }

  /** Draws the state info of the next stateful operator from the running batch's own counter. */
  def nextStateInfo(session: SparkSession): Option[StatefulOperatorStateInfo] =
    current(session).map(batch => NextStateInfo.invoke(batch).asInstanceOf[StatefulOperatorStateInfo])

  private[joinless] lazy val NextStateInfo = classOf[IncrementalExecution].getMethods
    .find(_.getName.endsWith("nextStatefulOperationStateInfo"))
    .getOrElse(throw new NoSuchMethodException("IncrementalExecution.nextStatefulOperationStateInfo"))

  /** What was decided for the running query: see [[RunState]]. */
  def runState(session: SparkSession): RunState = current(session) match {
    case None => inspected.get.getOrElse(RunState.NoQuery)
    case Some(batch) => stateOf(runOf(session, batch))
  }

  /** The same for a query that is about to start with a checkpoint, by what that holds. */
  def stateAt(session: SparkSession, checkpoint: String): RunState =
    if (SparkMembers.missing.isDefined) RunState.NoQuery
    else stateOf(begun(OperatorMetadata.ofNextBatch(session, checkpoint)))

  private def stateOf(run: Run): RunState =
    run.blocks.fold[RunState](RunState.Fresh)(RunState.Decided(_, run.sparkOperators))

  /** Takes down which blocks of a batch are ours. Of a new query this is what holds from now on; otherwise they must be the
    * recorded ones.
    */
  def decide(session: SparkSession, blocks: Map[Int, BlockSpec]): Unit = current(session).foreach { batch =>
    val run = runOf(session, batch)
    run.blocks match {
      case None => run.blocks = Some(blocks)
      case Some(before) => RecordedBlocks.difference(before, blocks).foreach { what =>
          throw JoinlessErrors.stateMismatch(Mismatch.Query, checkpointOf(batch), what)
        }
    }
  }

  /** What the checkpoint holds of a block of the running query. */
  def recorded(session: SparkSession, ordinal: Int): Option[Recorded] =
    current(session).flatMap(runOf(session, _).recorded.get(ordinal))

  /** The block's spec as it was completed by an earlier batch of this run. */
  def completed(session: SparkSession, ordinal: Int): Option[BlockSpec] =
    current(session).flatMap(runOf(session, _).blocks).flatMap(_.get(ordinal)).filter(_.shares.nonEmpty)

  /** Takes down a block's spec with the shares that were chosen; later batches of the run get it back. */
  def complete(session: SparkSession, spec: BlockSpec): Unit = current(session).foreach { batch =>
    val run = runOf(session, batch)
    run.blocks = Some(run.blocks.getOrElse(Map.empty) + (spec.ordinal -> spec))
  }

  /** Where the checkpoint of the running query is, for errors. */
  def checkpoint(session: SparkSession): String = current(session).fold("of the query")(checkpointOf)

  private def checkpointOf(batch: IncrementalExecution): String =
    new Path(batch.checkpointLocation).getParent.toString

  private def runOf(session: SparkSession, batch: IncrementalExecution): Run = {
    def begin(runId: UUID): Run = {
      val active = classicOf(session).sharedState.activeStreamingQueries.values.asScala.map(_.runId).toSet
      runs.keySet.removeIf(id => id != runId && !active(id))
      begun(OperatorMetadata.read(session, batch.checkpointLocation, batch.currentBatchId))
    }
    Option(runs.get(batch.runId)).getOrElse {
      val run = begin(batch.runId)
      Option(runs.putIfAbsent(batch.runId, run)).getOrElse(run)
    }
  }

  private def begun(found: OperatorMetadata.Found): Run =
    new Run(found.ours.map(r => r.spec.ordinal -> r).toMap, found.sparkOperators)

  private def classicOf(session: SparkSession): classic.SparkSession = session.asInstanceOf[classic.SparkSession]
}
