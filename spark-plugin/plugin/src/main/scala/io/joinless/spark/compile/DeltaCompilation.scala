package io.joinless.spark.compile

import io.joinless.spark.changes.Changes
import io.joinless.spark.checkpoint.RunState
import io.joinless.spark.compile.streams.StaticRows
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.{JoinlessAnalysisException, JoinlessErrors}
import io.joinless.spark.inspect.{Inspection, SqlText}
import io.joinless.spark.plans.marks.ChangeFeeds
import io.joinless.spark.plans.nodes.{DeltaRows, JoinFreeJoin}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.spec.{BlockShape, RecordedQuery}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.SparkMembers

/** Compiles the parts of a query that request its changes, with the settings of its session,
  * whichever thread calls.
  */
object DeltaCompilation {

  /** The plan with its deltas compiled; an error says why that is not possible.
    *
    * @param recorded the contents of the query's checkpoint, if it has some
    */
  def apply(session: SparkSession, analyzed: LogicalPlan, recorded: => Option[RecordedQuery] = None): LogicalPlan =
    attempt(session, analyzed, recorded).fold(reason => throw refused(reason), identity)

  /** The plan for inspection: compiled where possible, else unchanged. */
  def inspected(session: SparkSession, analyzed: LogicalPlan): LogicalPlan =
    try attempt(session, analyzed).getOrElse(analyzed)
    catch { case _: JoinlessAnalysisException => analyzed }

  def refused(reason: Reason): JoinlessAnalysisException =
    JoinlessErrors.deltasNotRewritten(reason.code.name, reason.sentence, reason.advice)

  /** The plan with its deltas compiled, or why one of them cannot be. A plan without marks is
    * unchanged.
    */
  def attempt(
      session: SparkSession,
      analyzed: LogicalPlan,
      recorded: => Option[RecordedQuery] = None
  ): Either[Reason, LogicalPlan] =
    if (!DeltaCompiler.hasMarks(analyzed)) Right(analyzed)
    else
      SparkMembers.missing match {
        case Some(member) => Left(Reason.unsupportedSpark(member))
        case None => Inspection.within(session)(compiler(session, recorded)(analyzed))
      }

  /** The reason, followed by what the user can request instead of a plain query whose results are
    * dropped as late: among final rows, and among changes, none is dropped.
    */
  def offering(session: SparkSession, analyzed: LogicalPlan, reason: Reason): Reason = {

    /** Whether the query compiles if its rows are requested in this form. */
    def can(form: DeltaForm) =
      try attempt(session, Changes.markedUnchecked(analyzed, form)).isRight
      catch { case _: JoinlessAnalysisException => false }
    def isPlain = !DeltaCompiler.hasMarks(analyzed) && !analyzed.exists(_.isInstanceOf[DeltaRows])
    val instead =
      if (reason.code != Reason.LateResults || !isPlain) None
      else if (can(DeltaForm.OnClose))
        Some("Or request final rows, by incrementalEnumerate(emit=\"on_close\"): then no result is late.")
      else if (can(DeltaForm.ChangeType))
        Some("Or request the changes of the result, by incrementalEnumerate(): then no result is late.")
      else None
    instead.fold(reason) { more =>
      reason.copy(arguments = reason.arguments.map { case (name, value) =>
        name -> (if (name == "advice") s"$value $more" else value)
      })
    }
  }

  /** A plain query in append mode whose trees of waiting joins are compiled ([[OuterJoins]]); a
    * tree that runs in Spark records why.
    *
    * @param run the contents of its checkpoint
    */
  def plain(session: SparkSession, analyzed: LogicalPlan, run: => RunState): LogicalPlan = {
    val conf = Inspection.conf(session)
    if (!conf.enabled || SparkMembers.missing.isDefined || !OuterJoins.in(analyzed)) analyzed
    else Inspection.within(session) {
      val compiled = OuterJoins.replaced(DeltaCompiler.inlined(analyzed))(outerJoins(session, conf, run))
      if (compiled.exists(_.isInstanceOf[DeltaRows])) compiled else analyzed
    }
  }

  /** A tree of waiting joins, compiled; or why Spark runs it. Settings decide only before the run
    * has decided: later, the tree is compiled where the checkpoint holds its block, and is Spark's
    * otherwise.
    */
  private def outerJoins(session: SparkSession, conf: JoinlessConf, run: RunState)(
      tree: LogicalPlan,
      needed: Seq[Attribute]
  ): Either[Reason, LogicalPlan] = {
    val relations = OuterJoins.relations(tree).size
    val begun = run match {
      case decided: RunState.Decided => Some(decided)
      case _ => None
    }
    lazy val feed = ChangeFeeds.unmarked(tree)
    def reason(why: String) = Reason.of(Reason.OuterJoin, "type" -> OuterJoins.typeOf(tree), "why" -> why)
    if (begun.isEmpty && !conf.outerJoins) Left(reason("spark.joinless.outerJoins.enabled is false"))
    else if (begun.isEmpty && relations < conf.minRelations) Left(Reason.tooFew(relations, conf.minRelations))
    else if (begun.isEmpty && feed.isDefined) Left(feed.get)
    else compiler(session, begun.map(_.query), isPlain = true).finalRows(tree, needed).left.map {
      case Reason(Reason.NeverFinal, arguments) =>
        reason(arguments.toMap.apply("why"))
      case other => other
    }.flatMap(plan => Either.cond(begun.forall(holds(_, plan)), plan, Reason(Reason.ExistingSparkState)))
  }

  /** Whether a checkpoint was begun with a compiled tree, as far as names of relations show; other
    * differences are reported where shapes are compared.
    */
  private def holds(run: RunState.Decided, tree: LogicalPlan): Boolean = {

    /** The names of a block's relations, by which blocks are recognized. */
    def names(shape: BlockShape) = shape.relations.map(_.name)
    val blocks = run.blocks.values.filter(_.origins.isDefined).map(names).toSet
    tree.exists { case join: JoinFreeJoin => blocks(names(join.shape)); case _ => false } || run.some && run.groups.nonEmpty
  }

  /** A unique key of a query's result; none where the query does not imply one. */
  def key(session: SparkSession, analyzed: LogicalPlan): Seq[Attribute] =
    Inspection.within(session)(compiler(session, None).key(analyzed).getOrElse(Nil))

  /** A compiler with the settings of the session.
    *
    * @param recorded the contents of the query's checkpoint, if it has some
    * @param isPlain its rows are those of Spark's own joins, computed with all rules of the
    *     optimizer
    */
  private def compiler(
      session: SparkSession,
      recorded: => Option[RecordedQuery],
      isPlain: Boolean = false
  ): DeltaCompiler = {
    def optimize(plan: LogicalPlan) = Inspection.template(session, plan, if (isPlain) Nil else WrongRules.of(plan))
    val static = new StaticRows(session, asInSpark = isPlain)
    new DeltaCompiler(Inspection.conf(session), new SqlText(session), recorded, optimize, static)
  }
}
