package io.joinless.spark.planner

import io.joinless.spark.checkpoint.{Recorded, StreamContext}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessErrors, Mismatch}
import io.joinless.spark.exec.{
  DeltaRowsExec,
  InTimeExec,
  JoinFreeExec,
  KeyedRecordsExec,
  MarkExec,
  RolesAndCellsExec,
  RowWindowsExec
}
import io.joinless.spark.exec.groups.GroupsExec
import io.joinless.spark.explain.ViewTreePlan
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.plans.marks.{Changelog, DeltaOutput, KeyedRows}
import io.joinless.spark.plans.nodes.{
  DeltaRows,
  Groups,
  InTime,
  JoinFreeJoin,
  KeyedRecords,
  PlansJoinBlocks,
  RowWindows
}
import io.joinless.spark.spec.{BlockShape, BlockSpec, SpecComparison}
import org.apache.spark.sql.joinless.{CellExchange, ExecutorCores, StateInfo, Watermarks}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnionExec}

/** Plans a join block: scans → roles and cells → one exchange → the join-free operator.
  *
  * If the checkpoint holds the block, its shares and tree are kept, after a comparison that fails
  * before anything is written. If the checkpoint is new, the shares are chosen here and are fixed
  * from then on. Without a running query (explain) the operator gets no state and cannot run; marks
  * that were not compiled are planned only to be shown.
  */
final class JoinFreeStrategy(session: SparkSession) extends SparkStrategy with PlansJoinBlocks {

  /** Plans the nodes of ours; nothing for all others. */
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case join: JoinFreeJoin => planned(join) :: Nil
    case Project(list, join: JoinFreeJoin) if onlyNames(list, join) =>
      planned(join.copy(output = list.map(_.toAttribute))) :: Nil
    case DeltaRows(child, form, projectedColumns, output, _) =>
      DeltaRowsExec(form, projectedColumns, output, planLater(child)) :: Nil
    case groups: Groups => planned(groups) :: Nil
    case InTime(times, lag, child) =>
      InTimeExec(times, lag, StreamContext.planning(session).map(Watermarks.ofStreams), planLater(child)) :: Nil
    case RowWindows(child, windows, output) => RowWindowsExec(windows, output, planLater(child)) :: Nil
    case KeyedRecords(child, columns) => KeyedRecordsExec(columns, planLater(child)) :: Nil
    case Changelog(child, _, _, _, _) => MarkExec("Changelog", plan.output, planLater(child)) :: Nil
    case KeyedRows(child, _, _) => MarkExec("KeyedRows", plan.output, planLater(child)) :: Nil
    case Project(list, DeltaOutput(child)) => MarkExec("DeltaOutput", list.map(_.toAttribute), planLater(child)) :: Nil
    case DeltaOutput(child) => MarkExec("DeltaOutput", plan.output, planLater(child)) :: Nil
    case _ => Nil
  }

  /** The operator of a block, over one exchange of its scans' rows. In a running query it gets the
    * next state; in a new one, shares are chosen.
    */
  private def planned(join: JoinFreeJoin): SparkPlan = {
    val batch = StreamContext.planning(session)
    val stateInfo = batch.map(_.nextStateInfo())
    val spec = stateInfo match {
      case Some(info) => withShares(join.shape, info)
      case None => ChosenShares(join.shape, partitions, ExecutorCores.known(session), JoinlessConf.active)
    }
    val watermarks = for (planning <- batch; info <- stateInfo) yield Watermarks.of(planning, info)
    val sent = join.scans.zip(join.rolesOfScan).map { case (scan, roles) =>
      val output = RolesAndCellsExec.newOutput(spec)
      // By which watermarks late rows are dropped. In a plain query: by the operator's own. Else rows
      // of the query's own operators are never late (None), and rows of a stream are late by the
      // streams' watermarks, so that all operators see the same ones; but if another query with
      // state makes that stream, by the operator's own.
      val late =
        if (!join.deltas) watermarks
        else if (isOfQuery(scan)) None
        else if (!scan.exists(hasState)) batch.map(Watermarks.ofStreams)
        else watermarks
      RolesAndCellsExec(spec, roles, planLater(scan), output, late)
    }
    val rows = if (sent.size == 1) sent.head else UnionExec(sent)
    JoinFreeExec(
      spec,
      join.residuals,
      join.output,
      stateInfo.map(_.copy(numPartitions = spec.cells)),
      CellExchange(rows, spec.cells),
      join.deltas,
      watermarks,
      join.lag,
      join.notes,
      Seq(ViewTreePlan.of(spec.shape))
    )
  }

  /** Whether a projection only renames columns: then the operator outputs the names itself. */
  private def onlyNames(list: Seq[NamedExpression], child: LogicalPlan): Boolean =
    list.size == child.output.size && list.zip(child.output).forall {
      case (Alias(a: Attribute, _), b) => a.exprId == b.exprId
      case (a, b) => a.exprId == b.exprId
    }

  /** Whether it is an operator of ours that keeps state. */
  private def hasState(plan: LogicalPlan): Boolean = plan.isInstanceOf[Groups] || plan.isInstanceOf[JoinFreeJoin]

  /** Whether rows are output of other operators of the same query whose changes, or final rows, are
    * requested; a stream may be another such query.
    */
  private def isOfQuery(plan: LogicalPlan): Boolean = plan match {
    case join: JoinFreeJoin => join.deltas
    case _: DeltaRows => false
    case other => other.isInstanceOf[Groups] || other.children.exists(isOfQuery)
  }

  /** The operator of groups. What the checkpoint has recorded of them is compared first. */
  private def planned(groups: Groups): SparkPlan = {
    val batch = StreamContext.planning(session)
    val stateInfo = batch.map(_.nextStateInfo()) // counts this operator: once for each one planned
    stateInfo.foreach(info => StreamContext.checkGroups(session, info.operatorId, groups.shape))
    GroupsExec.over(
      planLater(groups.child),
      groups.functions,
      groups.shape,
      groups.output,
      stateInfo.fold(partitions)(_.numPartitions),
      stateInfo,
      for (planning <- batch; info <- stateInfo) yield Watermarks.of(planning, info),
      groups.lag
    )
  }

  /** The block with its shares and its tree: those that the checkpoint has recorded; else those of
    * an earlier batch of the run; else, in the first batch of a new checkpoint, shares chosen now:
    * into how many parts each join attribute divides the state. Later batches of the run find what
    * is returned here.
    */
  private def withShares(planned: BlockShape, stateInfo: StateInfo): BlockSpec = {
    val spec = StreamContext.recorded(session, planned.id) match {
      case Some(recorded) => continued(recorded, planned, stateInfo)
      case None =>
        StreamContext.earlierSpec(session, planned.id) match {
          case Some(before) => SpecComparison.continued(before, planned)
          case None =>
            ChosenShares(planned, stateInfo.numPartitions, ExecutorCores.settled(session), JoinlessConf.active)
        }
    }
    StreamContext.complete(session, spec)
    spec
  }

  /** The block as recorded, after a comparison that fails before anything is written. */
  private def continued(
      recorded: Recorded,
      planned: BlockShape,
      stateInfo: StateInfo
  ): BlockSpec = {

    /** Refuses to continue from the checkpoint, for this reason. */
    def refuse(kind: Mismatch, what: String) =
      throw JoinlessErrors.stateMismatch(kind, StreamContext.checkpoint(session), what)
    SpecComparison.difference(recorded.spec.shape, planned).foreach { case (kind, what) => refuse(kind, what) }
    if (recorded.operator != stateInfo.operatorId)
      refuse(
        Mismatch.Query,
        s"The join of ${planned.relations.map(_.name).mkString(", ")} is stateful operator ${stateInfo.operatorId} " +
          s"of the query, and was operator ${recorded.operator}."
      )
    val cells = recorded.spec.cells
    if (recorded.partitions != cells || cells > stateInfo.numPartitions)
      refuse(
        Mismatch.Cells,
        s"Its join was placed in $cells cells; it has ${recorded.partitions} stores and " +
          s"${stateInfo.numPartitions} partitions."
      )
    SpecComparison.continued(recorded.spec, planned)
  }

  private def partitions: Int = Inspection.partitions(session)
}
