package io.joinless.spark.checkpoint

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.spec.{BlockShape, BlockSpec, GroupFormat, GroupShape, NodeId}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.{AnalysisHelper, LogicalPlan}
import org.apache.spark.sql.joinless.{RunningBatch, SparkMembers}

/** The decisions for the run of the query whose batch the calling thread plans.
  *
  * The records of a checkpoint are read once per run; from then on, and after the first planned
  * batch of a new query, the answer is frozen.
  */
object StreamContext {

  /** The known state of a run: `recorded` by its checkpoint, `blocks` once the first batch was
    * planned, `placed` once their cells were chosen.
    */
  final private class Run(
      val recorded: Map[NodeId, Recorded],
      val groups: Seq[RecordedGroups],
      val sparkOperators: Boolean,
      val first: Boolean
  ) {

    /** The record may be incomplete: the first batch was begun and is not done. */
    @volatile var isPartial: Boolean = first && (recorded.nonEmpty || groups.nonEmpty || sparkOperators)

    @volatile var specs: Map[NodeId, BlockSpec] = Map.empty
    @volatile var blocks: Option[Map[NodeId, BlockShape]] =
      Option.when(recorded.nonEmpty || groups.nonEmpty || sparkOperators)(recorded.map { case (id, block) =>
        id -> block.spec.shape
      })
  }

  private val runs = new ConcurrentHashMap[UUID, Run]
  private val inspected = ThreadLocal.withInitial[Option[Look]](() => None)

  /** A plan that is only explained: the run state that rules see, and the query. */
  final private case class Look(as: RunState, query: Option[LogicalPlan])

  /** The batch that is being planned on this thread, if there is one and it is not only explained.
    */
  def current(session: SparkSession): Option[RunningBatch] =
    if (inspected.get.isEmpty) RunningBatch.of(session) else None

  /** The same batch, as long as its operators get their state: not for a plan that is made of it
    * afterwards, to be shown.
    */
  def planning(session: SparkSession): Option[RunningBatch] = current(session).filterNot(_.isPlanned)

  /** Runs `body`, which plans something only to inspect it: `body` sees no running batch. It may be
    * called inside Spark's analyzer, which forbids transformations otherwise, since they would
    * visit resolved nodes again and again (it says so in its test mode only).
    *
    * @param as the run state that rules see
    * @param query the analyzed query whose plan it is
    */
  def inspecting[A](body: => A, as: RunState = RunState.NoQuery, query: Option[LogicalPlan] = None): A = {
    val previous = inspected.get
    inspected.set(Some(Look(as, query)))
    try AnalysisHelper.allowInvokingTransformsInAnalyzer(body)
    finally inspected.set(previous)
  }

  /** The decisions for the running query: see [[RunState]]. */
  def runState(session: SparkSession): RunState = current(session) match {
    case None => inspected.get.fold[RunState](RunState.NoQuery)(_.as)
    case Some(batch) => stateOf(runOf(session, batch))
  }

  /** The same for a query that is about to start with a checkpoint, by the content of the
    * checkpoint.
    */
  def stateAt(session: SparkSession, checkpoint: String): RunState =
    if (SparkMembers.missing.isDefined) RunState.NoQuery
    else stateOf(begun(OperatorMetadata.ofNextBatch(session, checkpoint)))

  /** The analyzed query whose plan is being planned, with its streams and its users' marks. */
  def query(session: SparkSession): Option[LogicalPlan] =
    inspected.get.fold(current(session).map(_.analyzed))(_.query)

  /** The run as rules see it: new, or decided. */
  private def stateOf(run: Run): RunState =
    run.blocks.fold[RunState](RunState.Fresh)(RunState.Decided(
      _,
      run.sparkOperators,
      run.groups.map(_.shape),
      run.isPartial
    ))

  /** Records which blocks of a batch are ours. For a new query these are fixed from now on;
    * otherwise they must be the recorded ones.
    */
  def decide(session: SparkSession, blocks: Map[NodeId, BlockShape]): Unit = current(session).foreach { batch =>
    val run = runOf(session, batch)
    run.blocks match {
      case None => run.blocks = Some(blocks)
      case Some(before) =>
        RecordedBlocks.difference(before, blocks, run.isPartial).foreach { what =>
          throw JoinlessErrors.stateMismatch(Mismatch.Query, batch.checkpoint, what)
        }
        if (run.isPartial) {
          run.blocks = Some(blocks ++ before)
          run.isPartial = false
        }
    }
  }

  /** The checkpoint's record of a block of the running query. */
  def recorded(session: SparkSession, id: NodeId): Option[Recorded] =
    current(session).flatMap(runOf(session, _).recorded.get(id))

  /** The block's spec, with its shares, as an earlier batch of this run chose it. */
  def earlierSpec(session: SparkSession, id: NodeId): Option[BlockSpec] =
    current(session).flatMap(runOf(session, _).specs.get(id))

  /** Records a block's spec with the chosen shares; later batches of the run reuse it. */
  def complete(session: SparkSession, spec: BlockSpec): Unit = current(session).foreach { batch =>
    val run = runOf(session, batch)
    run.specs += spec.id -> spec
    run.blocks = Some(run.blocks.getOrElse(Map.empty) + (spec.id -> spec.shape))
  }

  /** Refuses groups of the running query that differ from those of the same operator in its
    * checkpoint, or that are not there although its query was begun with state.
    */
  def checkGroups(session: SparkSession, operator: Long, now: GroupShape): Unit = current(session).foreach { batch =>
    val run = runOf(session, batch)
    def refuse(what: String) = throw JoinlessErrors.stateMismatch(Mismatch.Query, batch.checkpoint, what)
    run.groups.find(_.operator == operator) match {
      case Some(before) => GroupFormat.difference(before.shape, now).foreach(refuse)
      case None if !run.first && (run.recorded.nonEmpty || run.groups.nonEmpty || run.sparkOperators) =>
        refuse(s"It was begun without the groups ${now.text} of the query, or with others before them.")
      case None =>
    }
  }

  /** The location of the running query's checkpoint, for errors. */
  def checkpoint(session: SparkSession): String = current(session).fold("of the query")(_.checkpoint)

  /** The run of a batch. On the run's first batch its checkpoint is read; runs that have ended are
    * forgotten then.
    */
  private def runOf(session: SparkSession, batch: RunningBatch): Run =
    Option(runs.get(batch.run)).getOrElse {
      val active = RunningBatch.activeRuns(session)
      runs.keySet.removeIf(id => id != batch.run && !active(id))
      val run = begun(OperatorMetadata.read(session, batch.state, batch.batch))
      Option(runs.putIfAbsent(batch.run, run)).getOrElse(run)
    }

  /** A run that begins with what its checkpoint holds. */
  private def begun(found: OperatorMetadata.Found): Run =
    new Run(found.ours.map(r => r.spec.id -> r).toMap, found.groups, found.sparkOperators, found.batch == 0)
}
