package io.joinless.spark.views

import io.joinless.spark.changes.Changes
import io.joinless.spark.compile.{DeltaCompilation, DeltaCompiler}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.explain.steps.{StepsJson, StepsOf, StepsText}
import io.joinless.spark.explain.{
  DeltasText,
  ExtendedExplain,
  GroupsText,
  JoinTreeGraph,
  JoinTreeText,
  ReadOnceText,
  WholeCost
}
import io.joinless.spark.inspect.Inspection
import io.joinless.spark.planner.ChosenShares
import io.joinless.spark.plans.marks.ChangeFeeds
import io.joinless.spark.plans.nodes.{DeltaRows, Groups, JoinFreeJoin}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.source.LookupCost
import io.joinless.spark.spec.{BlockSpec, NodeId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.{ExecutorCores, Plans}
import org.apache.spark.sql.{Dataset, SparkSession}

/** How a query would be computed, which need not run: the plan of the first batch of a new
  * checkpoint, as text and as data.
  *
  * @param blocks its joins
  * @param deltas of each block whose changes are requested
  * @param groups the groups that are kept, as text
  * @param whole the cost of the whole query, if it has more than one block
  * @param reasons why joins stay with Spark
  * @param optimized the plan; None if the query does not compile
  */
final case class Explanation private (
    blocks: Seq[BlockSpec],
    deltas: Map[NodeId, DeltaRows],
    groups: Seq[String],
    whole: Option[String],
    reasons: Seq[Reason],
    conf: JoinlessConf,
    optimized: Option[LogicalPlan]
) {

  /** The steps of a query of several operators, its joins, groups and cost, and the reasons. */
  def text: String = {
    val trees = blocks.map { spec =>
      val changes = deltas.get(spec.id).map(d => "\n" + DeltasText(spec, d))
      JoinTreeText(spec, conf.expectedRows(spec.relations.map(_.name))) + changes.getOrElse("")
    }
    val kept = reasons.map(ExtendedExplain.text)
    if (trees.isEmpty && groups.isEmpty && kept.isEmpty) "The query joins no streams."
    else {
      val steps = optimized.filter(_ => whole.isDefined).map(plan => StepsText(StepsOf(plan)))
      val parts = steps ++ trees ++ groups ++ whole ++ ReadOnceText(readOnce) ++
        Option.when(kept.nonEmpty)(kept.mkString("\n"))
      parts.mkString("\n\n")
    }
  }

  /** The join trees, as a Mermaid drawing. */
  def mermaid: String = JoinTreeGraph.mermaid(blocks)

  /** The join trees, reasons, cost and steps. */
  def json: String =
    JoinTreeGraph.json(blocks, reasons, whole, readOnce, optimized.map(plan => StepsJson(StepsOf(plan))))

  /** The reasons of the joins that stay with Spark. */
  def reasonsJson: String = JoinTreeGraph.json(reasons)

  /** What look-ups of the result will cost, each by values of some columns, as texts. */
  def lookups(columns: Seq[Seq[String]]): Seq[String] = {
    val costs = optimized.map(new LookupCost(_, blocks))
    columns.map(names => costs.fold("by nothing, since the query is not rewritten")(_(names)))
  }

  /** The static tables that are read once. */
  private def readOnce: Seq[String] = optimized.toSeq.flatMap(ReadOnceText.tables)
}

object Explanation {

  /** The explanation of a query. A query over changelogs is looked at as if the changes of its result
    * were requested, and gets the reason that they are not.
    *
    * @param isView the changes are requested, although the query has no mark
    */
  def apply(df: Dataset[_], isView: Boolean = false): Explanation = Inspection.within(df.sparkSession) {
    val session = df.sparkSession
    if (!Inspection.hasExtension(session)) throw JoinlessErrors.extensionNotInstalled()
    if (!df.isStreaming) throw JoinlessErrors.notStreaming()
    Inspection.conf(session).checkNames()
    val analyzed = Plans.analyzed(df.toDF())
    def asIfRequested =
      of(session, DeltaCompilation.attempt(session, Changes.markedUnchecked(analyzed, DeltaForm.ChangeType)))
    if (isView) asIfRequested
    else if (DeltaCompiler.reads(analyzed)) {
      val found = asIfRequested
      found.copy(reasons = found.reasons :+ Reason(Reason.ChangesNotRequested))
    } else {
      val found = of(session, DeltaCompilation.attempt(session, analyzed))
      val offered = found.reasons.map(DeltaCompilation.offering(session, analyzed, _))
      found.copy(reasons = (offered ++ ChangeFeeds.unmarked(analyzed)).distinct)
    }
  }

  /** That of a compiled plan, or of the reason why it does not compile. */
  private def of(session: SparkSession, compiled: Either[Reason, LogicalPlan]): Explanation = compiled match {
    case Left(reason) => Explanation(Nil, Map.empty, Nil, None, Seq(reason), Inspection.conf(session), None)
    case Right(plan) => of(session, plan)
  }

  /** That of a plan that is ready to be optimized. */
  private def of(session: SparkSession, plan: LogicalPlan): Explanation = {
    val optimized = Inspection.optimized(session, plan)
    val conf = Inspection.conf(session)
    val partitions = Inspection.partitions(session)
    val nodes = optimized.collect { case node => node }
    val blocks = nodes.collect { case join: JoinFreeJoin =>
      ChosenShares(join.shape, partitions, ExecutorCores.known(session), conf)
    }
    val emitted = nodes.collect { case rows: DeltaRows =>
      keepers(rows) match {
        case Seq(only) => Some(only -> rows)
        case _ => None // parts of a union, whose changes are emitted together
      }
    }.flatten
    val deltas = emitted.collect { case (join: JoinFreeJoin, rows) => join.shape.id -> rows }.toMap
    val groups = nodes.collect { case groups: Groups =>
      GroupsText(groups, emitted.collectFirst { case (keeps, rows) if keeps eq groups => rows })
    }
    val reasons = ExtendedExplain.reasons(nodes)
    Explanation(blocks.sortBy(_.id), deltas, groups, WholeCost(optimized), reasons, conf, Some(optimized))
  }

  /** The topmost nodes with state of a plan. */
  private def keepers(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case keeps @ (_: JoinFreeJoin | _: Groups) => Seq(keeps)
    case other => other.children.flatMap(keepers)
  }
}
