package io.joinless.spark.rules.rewrite

import io.joinless.engine.query.JoinTree
import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.ChangeFeeds
import io.joinless.spark.plans.nodes.{JoinFreeJoin, Template}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.{AttributeClasses, Conditions, JoinBlock}
import io.joinless.spark.rules.counts.CountedGroups
import io.joinless.spark.rules.extract.{ExtractJoinBlock, StaticSides}
import io.joinless.spark.rules.scans.RevealIdleSources
import io.joinless.spark.rules.time.LateResults
import io.joinless.spark.spec.{BlockShape, NodeId, SqlTexts, StateFormat}
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Subquery}
import org.apache.spark.sql.catalyst.rules.Rule

/** Replaces blocks of streaming inner equi-joins by one node each.
  *
  * Runs once per batch, after Spark has pushed filters and pruned columns and before anything
  * depends on statistics. Extract ([[ExtractJoinBlock]]), decide ([[Eligibility]]), rewrite
  * ([[RewriteBlock]]) are separate. The decisions for a run hold for all its batches: `state` has
  * them, and each planned batch reports through `decide`. Blocks that were compiled at the start of
  * the query ([[io.joinless.spark.start.CompileDeltas]]) only get their position, and their scans
  * are merged.
  *
  * A plan that is not streaming, or in which nothing is rewritten and nothing was hidden, is
  * returned `eq`, with reasons as tags on its joins.
  *
  * @param lacking A member of Spark that this build lacks; then nothing is rewritten.
  * @param emitsTouched Spark emits every touched group again.
  * @param query The whole query as it was started. One that reads a change feed as rows runs in
  *   Spark ([[ChangeFeeds]]).
  */
final class RewriteStreamingJoins(
    conf: () => JoinlessConf,
    state: () => RunState,
    decide: Map[NodeId, BlockShape] => Unit,
    texts: SqlTexts = SqlTexts.None,
    lacking: () => Option[String] = () => None,
    emitsTouched: () => Boolean = () => true,
    query: () => Option[LogicalPlan] = () => None
) extends Rule[LogicalPlan] {

  /** Rewrites the plan of a batch; subqueries and plans that are not of streams stay as they are. A
    * template is captured instead, as it is at this point of the optimizer. Where the rule is
    * disabled, or Spark lacks a member, all joins are left to Spark, with that reason; but a
    * disabled rule continues a query that was compiled when it started.
    */
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Subquery => plan
    case Template(child, taken) =>
      taken.set(child)
      plan
    case _ if !plan.isStreaming => plan
    case _ if !conf().enabled && !plan.exists(_.isInstanceOf[JoinFreeJoin]) =>
      leaveAll(plan, Reason(Reason.Disabled))
    case _ => lacking().fold(rewrite(plan))(member => leaveAll(plan, Reason.unsupportedSpark(member)))
  }

  /** Keeps all blocks, with the same reason. */
  private def leaveAll(plan: LogicalPlan, reason: Reason): LogicalPlan = {
    implicit val statics: StaticSides = StaticSides(conf().staticsAtArrival)
    JoinBlocks.roots(plan).foreach(leave(_, reason))
    // `HideIdleSources` checked the same and hid nothing; if a setting changed since, Spark must
    // not get our leaves
    RevealIdleSources(plan)
  }

  /** Decides about each block, refuses the query where every join must be rewritten and one is not,
    * and records the reasons at the joins that are left, and the blocks for the run.
    */
  private def rewrite(plan: LogicalPlan): LogicalPlan = {
    val run = state()
    implicit val statics: StaticSides = staticsOf(run)
    val roots = JoinBlocks.roots(plan)
    val decisions = roots.zipWithIndex.map { case (root, ordinal) => decision(root, NodeId(ordinal), run) }
    val others = plan.collect { case join: Join if isOuter(join) => join -> reasonOfOuter(join) }
    if (run != RunState.NoQuery && conf().forced) refuse(decisions.collect { case Keep(r) => r } ++ others.map(_._2))

    others.foreach { case (join, reason) => Reason.leave(join, reason) }
    roots.zip(decisions).foreach {
      case (root, Keep(reason)) => leave(root, reason)
      case _ =>
    }
    val ours = decisions.collect { case ours: Ours => ours.shape }
    if (run != RunState.NoQuery) decide(ours.map(shape => shape.id -> shape).toMap)
    RevealIdleSources(LateResults.noted(JoinBlocks.replaced(plan, decisions)))
  }

  /** The way in which the checkpoint was begun is continued. */
  private def staticsOf(run: RunState): StaticSides = StaticSides(
    if (run.blocks.nonEmpty) run.blocks.values.exists(_.staticsAtArrival) else conf().staticsAtArrival
  )

  /** The decision on a block, whether it was compiled at the start of the query or not. */
  private def decision(root: BlockRoot, id: NodeId, run: RunState)(implicit statics: StaticSides): Decision =
    root.plan match {
      case compiled: JoinFreeJoin => Place(compiled.shape.copy(id = id))
      case _ if !conf().enabled => Keep(Reason(Reason.Disabled))
      case _ => ofJoins(root, id, run)
    }

  /** The decision on a block of plain joins: whether it is ours, and if so, whether its results are
    * counted. What the checkpoint has recorded of the block is continued.
    */
  private def ofJoins(root: BlockRoot, id: NodeId, run: RunState)(implicit statics: StaticSides): Decision = {
    val recorded = run.blocks.get(id)
    val found = for {
      block <- ExtractJoinBlock(root.plan, root.needed)
      layout = layoutOf(recorded)(block)
      tree <- new Eligibility(conf(), recorded)(layout)
    } yield {
      // a counted block keeps all rows: results are not counted where rows can be evicted, unless
      // the checkpoint was begun with counts
      val evicts = layout.lifetimes.exists(_.isRight) && !recorded.exists(_.reduction.isDefined)
      val groups = if (evicts) None else root.groups.flatMap(CountedGroups(_))
      groups.flatMap(counted(_, layout, tree, recorded)).fold[Ours] {
        val rewrite = new RewriteBlock(layout.copy(forgets = true))
        Rewrite(rewrite, rewrite.shape(id, tree, texts))
      } { case (groups, form) => RewriteCounted(groups, form.rewrite, form.shape.copy(id = id)) }
    }
    // a run that was decided before is not refused later
    lazy val readsFeed = if (run.isInstanceOf[RunState.Decided]) None else query().flatMap(ChangeFeeds.unmarked)
    (found, run) match {
      case (Left(reason), _) => Keep(reason)
      case _ if readsFeed.isDefined => Keep(readsFeed.get)
      // not recorded: an earlier batch left the join to Spark. While the first batch is not done
      // (`some`), that is certain only if the checkpoint has stateful operators of Spark's
      case (Right(_), decided: RunState.Decided) if recorded.isEmpty && (!decided.some || decided.sparkOperators) =>
        Keep(Reason(Reason.ExistingSparkState))
      case (Right(rewrite), _) if recorded.isEmpty =>
        StateFormat.tooLarge(rewrite.shape).fold[Decision](rewrite) { what =>
          Keep(Reason.joinTooLarge(rewrite.shape.relations.map(_.name), what))
        }
      case (Right(rewrite), _) => rewrite
    }
  }

  /** How results are counted for a GROUP BY above; None if they are not. Results that count once are
    * emitted once. In update mode (`emitsTouched`) that is the second choice, since it would be
    * visible: there Spark emits each group again that has new results, even if its values are
    * unchanged.
    */
  private def counted(groups: CountedGroups, layout: BlockLayout, tree: JoinTree, recorded: Option[BlockShape])(implicit
      statics: StaticSides
  ): Option[(CountedGroups, BlockForm)] = {
    val once = groups.onceDemand.toSeq
    val demands = if (emitsTouched()) groups.demand +: once else once :+ groups.demand
    val form = new BlockForms(conf(), texts, layoutOf(recorded), tree, _ => true).of(layout, demands, recorded.toSeq)
    Option.when(form.counts)(groups -> form)
  }

  /** The layout of a block, in the order of columns of the recorded one. */
  private def layoutOf(recorded: Option[BlockShape])(block: JoinBlock): BlockLayout =
    RecordedOrder(block, recorded.toSeq) { block =>
      BlockLayout(block, AttributeClasses(block), guardKeys = conf().keyErrorsAreNull)
    }

  /** Attaches the reason to the topmost join of a block. */
  private def leave(root: BlockRoot, reason: Reason): Unit =
    Reason.leave(ExtractJoinBlock.topJoin(root.plan), reason)

  /** Whether it is a join of streams that is no inner join. */
  private def isOuter(join: Join): Boolean =
    Conditions.joinsStreams(join) && !join.joinType.isInstanceOf[InnerLike]

  /** The reason recorded at the start of the query. */
  private def reasonOfOuter(join: Join): Reason = Reason.at(join).filterNot(_.code == Reason.Disabled).getOrElse(
    Reason.of(
      Reason.OuterJoin,
      "type" -> join.joinType.sql,
      "why" -> "Joinless emits its rows in append mode"
    )
  )

  /** Throws the first of these reasons, if there is one. */
  private def refuse(reasons: Seq[Reason]): Unit = reasons.headOption.foreach { reason =>
    throw JoinlessErrors.notRewritten(reason.code.name, reason.sentence, reason.advice)
  }
}
