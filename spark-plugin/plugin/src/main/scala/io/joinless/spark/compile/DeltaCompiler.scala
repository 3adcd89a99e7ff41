package io.joinless.spark.compile

import scala.collection.mutable.ArrayBuffer

import io.joinless.engine.query.GyoReduction
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.{
  ChangeColumn,
  Changelog,
  Deferred,
  DeltaForm,
  DeltaOutput,
  DeltaRows,
  Groups,
  InPlaceOf,
  MaskedStream,
  Reason,
  StreamRef
}
import io.joinless.spark.rules.{
  AttributeClasses,
  BlockLayout,
  Conditions,
  Eligibility,
  ExtractJoinBlock,
  LeafSource,
  MeaningTexts,
  RelationNames,
  RewriteBlock,
  StaticSides,
  TimeZones,
  WaysOutOfCycles,
  WeightedRows
}
import io.joinless.spark.spec.{NodeId, RowsSpec, SqlTexts}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  AttributeSet,
  Expression,
  Literal,
  NamedExpression,
  SessionWindow,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Deduplicate,
  EventTimeWatermark,
  Expand,
  Filter,
  Generate,
  GlobalLimit,
  Join,
  LocalLimit,
  LogicalPlan,
  Offset,
  Project,
  Sort,
  Tail,
  Union,
  WithCTE
}

/** Turns a query of which changes are asked into operators that keep its result, once for all batches.
  *
  *   1. Each stream of the query, with its watermarks, becomes an opaque [[StreamRef]]; a changelog is a stream.
  *   1. Spark's own optimizer works on this template: it pushes filters, prunes columns, and stops where blocks are
  *      rewritten (`optimize`).
  *   1. From below, each GROUP BY becomes a node that keeps groups ([[GroupCompiler]]), and for all that stands above a stream of
  *      changes, as a changelog is.
  *   1. What is left is read as a block by the same rules as a plain query's ([[ExtractJoinBlock]], [[Eligibility]]), from one
  *      relation on; [[DeltaScope]] says what else may stand in it. Rows of which nothing must be stored pass through as they are.
  *   1. The streams go back, a changelog's with the weight of each row behind the stored columns.
  *
  * What a batch brings cannot change the block any more. Expressions of the current time are hidden from the optimizer,
  * which would put its own time there.
  *
  * @param texts how expressions are recorded for readers of the checkpoint
  * @param begun the checkpoint holds the query's blocks: settings that decide on new ones do not count
  * @param optimize runs Spark's optimizer on a template, up to where blocks are rewritten in a batch
  */
final class DeltaCompiler(
    conf: JoinlessConf,
    texts: SqlTexts,
    begun: => Boolean,
    optimize: LogicalPlan => LogicalPlan
) {

  def apply(plan: LogicalPlan): Either[Reason, LogicalPlan] = {
    val inlined = if (plan.exists(_.isInstanceOf[WithCTE])) InlineCTE(alwaysInline = true)(plan) else plan
    var reason: Option[Reason] = None
    val compiled = inlined.transformUp {
      case mark @ DeltaCompiler.Mark(query, form, output) if reason.isEmpty =>
        compiledMark(query, form, output).fold(r => { reason = Some(r); mark }, identity)
    }
    reason.toLeft {
      compiled.collectFirst { case changelog: Changelog => changelog }.foreach { plain =>
        throw JoinlessErrors.retractionsNotRepresentable(plain.output.map(_.name).mkString(", "))
      }
      compiled
    }
  }

  implicit private val statics: StaticSides = StaticSides(conf.staticsAtArrival)

  private def compiledMark(query: LogicalPlan, form: DeltaForm, output: Seq[Attribute]): Either[Reason, LogicalPlan] =
    if (!conf.enabled) Left(Reason(Reason.Disabled))
    else {
      val streams = new Streams
      val template = DeltaCompiler.distinct(DeltaCompiler.hideTime(streams.taken(query)))
      RelationNames.note(template)
      for {
        _ <- DeltaCompiler.sessions(query).toLeft(())
        inner <- PartnerJoins.inner(Subqueries.named(optimized(template)))
        plan <- inputs(inner, streams)
        rows <- rows(plan, streams, root = true)
      } yield DeltaCompiler.showTime(DeltaRows(rows.plan, form, rows.shown, output))
    }

  /** The optimized template; what joins bring that stand in the place of subqueries is optimized, too. */
  private def optimized(template: LogicalPlan): LogicalPlan = {
    val first = optimize(template)
    unordered(if (Subqueries.has(first)) optimize(Subqueries.joined(first)) else first)
  }

  /** An order that decides on no rows says nothing of changes. */
  private def unordered(plan: LogicalPlan): LogicalPlan = plan match {
    case _: GlobalLimit | _: LocalLimit | _: Offset | _: Tail => plan
    case Sort(_, _, child, _) => unordered(child)
    case other => other.mapChildren(unordered)
  }

  /** The plan with a stream of changes in the place of each GROUP BY, and of what stands below a join and is no rows of a stream. */
  private def inputs(plan: LogicalPlan, streams: Streams): Either[Reason, LogicalPlan] = {
    var reason: Option[Reason] = None
    def replaced(part: LogicalPlan)(stream: Either[Reason, LogicalPlan]): LogicalPlan =
      stream.fold(r => { reason = reason.orElse(Some(r)); part }, identity)
    def side(plan: LogicalPlan): LogicalPlan = plan match {
      case _: Project | _: Filter => plan.withNewChildren(plan.children.map(side))
      case _: Union | _: Expand | _: Generate if isNoStream(plan, streams) => replaced(plan)(stored(plan, streams))
      case other => other
    }
    val changed = plan.transformUp {
      case aggregate: Aggregate if aggregate.isStreaming && reason.isEmpty =>
        replaced(aggregate)(groups(aggregate, streams))
      case StoredInput(child) if reason.isEmpty => replaced(child)(stored(child, streams))
      case join: Join if Conditions.joinsStreams(join) && reason.isEmpty =>
        join.withNewChildren(join.children.map(side))
    }
    reason.toLeft(changed)
  }

  /** A union with joins in it, explode, ROLLUP and the like. */
  private def isNoStream(plan: LogicalPlan, streams: Streams): Boolean = plan match {
    case union: Union => union.children.exists(part => ExtractJoinBlock.holdsBlock(part) || isNoStream(part, streams))
    case Project(_, child) => isNoStream(child, streams)
    case Filter(_, child) => isNoStream(child, streams)
    case _: Expand | _: Generate => isRowWise(plan, streams)
    case _ => false
  }

  private def stored(plan: LogicalPlan, streams: Streams): Either[Reason, LogicalPlan] =
    rows(plan, streams, root = false).map(streams.addRows(_, plan.output))

  private def groups(aggregate: Aggregate, streams: Streams): Either[Reason, LogicalPlan] = for {
    grouping <- GroupCompiler.grouping(aggregate)
    rows <- rows(grouping.child, streams, root = false)
  } yield {
    val groups = GroupCompiler.groups(grouping, rows).copy(purpose = aggregate.getTagValue(PartnerJoins.purpose))
    Project(grouping.results, streams.addGroups(groups, grouping.output))
  }

  /** The changes of the rows of a plan without groups.
    *
    * @param root nothing with state stands above it: then rows are stored, for the complete result
    */
  private def rows(plan: LogicalPlan, streams: Streams, root: Boolean): Either[Reason, WeightedRows] =
    passing(plan, streams, root).map(Right(_)).getOrElse(plan match {
      case union: Union if isRowWise(union, streams) => united(union, streams, root)
      case expand: Expand if isRowWise(expand, streams) => rows(expand.child, streams, root).map(_.expand(expand))
      case generate: Generate if isRowWise(generate, streams) =>
        rows(generate.child, streams, root).map(_.generate(generate))
      case Project(list, child) if isRowWise(child, streams) =>
        rows(child, streams, root).map(_.project(list, child))
      case Filter(condition, child) if isRowWise(child, streams) =>
        rows(child, streams, root).map(_.filter(condition, child))
      case _ => block(plan, streams)
    })

  /** Whether a plan treats rows one by one above what joins or groups: a union of which a part does so, ROLLUP and the like, explode, or
    * what is made of these. A union of streams is a stream.
    */
  private def isRowWise(plan: LogicalPlan, streams: Streams): Boolean = plan match {
    case union: Union =>
      union.children.exists(part =>
        isRowWise(part, streams) || ExtractJoinBlock.holdsBlock(part) || part.exists {
          case ref: StreamRef => streams.isGroups(ref)
          case _ => false
        }
      )
    case _: Expand | _: Generate => plan.isStreaming && DeltaScope.changing(plan.expressions).isEmpty
    case Project(list, child) => DeltaScope.changing(list).isEmpty && isRowWise(child, streams)
    case Filter(condition, child) => DeltaScope.changing(Seq(condition)).isEmpty && isRowWise(child, streams)
    case _ => false
  }

  private def united(union: Union, streams: Streams, root: Boolean): Either[Reason, WeightedRows] = {
    val (refused, parts) = union.children.map(rows(_, streams, root)).partitionMap(identity)
    refused.headOption.toLeft(WeightedRows.united(union, parts))
  }

  /** The rows of a plan of which nothing must be stored: projections and conditions on groups, whose changes fit what was told
    * before; or, below a GROUP BY, on rows that only come and of which none is late.
    */
  private def passing(plan: LogicalPlan, streams: Streams, root: Boolean): Option[WeightedRows] = {
    val refs = plan.collect { case ref: StreamRef => ref }
    val groups = refs.filter(streams.isGroups)
    def appended = !root && !refs.exists(ref => streams.isChangelog(ref) || streams.hasWatermark(ref))
    val linear = DeltaCompiler.isLinear(plan) && (refs == groups && refs.size == 1 || groups.isEmpty && appended)
    if (!linear || !DeltaScope.passes(plan)) None
    else {
      val source = LeafSource(plan)
      groups.foreach(streams.note(_, MeaningTexts.ofRows(plan, Set.empty), TimeZones.in(plan)))
      val shown = plan.output.map(source.resolve(_)).map {
        case a: Attribute => groups.headOption.fold(-1)(_.output.indexWhere(_.exprId == a.exprId))
        case _ => -1
      }
      Some(WeightedRows(streams.weighted(plan), shown, e => MeaningTexts.ofValue(e, plan), groups.nonEmpty))
    }
  }

  private def block(plan: LogicalPlan, streams: Streams): Either[Reason, WeightedRows] = for {
    asWritten <- ExtractJoinBlock(plan, plan.outputSet)
    _ <- new DeltaScope(streams.isChangelog)(asWritten).toLeft(())
    changelogs = streams.changelogs(asWritten.leaves.map(_.plan))
    closed = BlockLayout(asWritten, AttributeClasses(asWritten), changelogs, conf.keyErrorsAreNull)
    // Spark cannot run it either: a cycle is opened, and what closes it is checked on each result
    block = GyoReduction.reduce(closed.hypergraph).left.toOption.fold(asWritten)(WaysOutOfCycles.opened(asWritten, _))
    layout = BlockLayout(block, AttributeClasses(block), changelogs, conf.keyErrorsAreNull)
    tree <- new Eligibility(conf, None, compiled = true, begun, streams.single(block.leaves.map(_.plan)))(layout)
  } yield {
    val rewrite = new RewriteBlock(layout)
    val scans = block.leaves.indices.map { i =>
      val scan = rewrite.scan(i, block.leaves(i).plan)
      if (layout.changelogs(i)) streams.weighted(scan) else streams.restored(scan)
    }
    val shape = rewrite.shape(NodeId(0), tree, texts) // each batch puts the block's own id there
    rewrite.weighted(shape, scans)
  }

  /** The streams of one query, by number. */
  final private class Streams {
    private val all = new ArrayBuffer[LogicalPlan]

    def isChangelog(ref: StreamRef): Boolean = all(ref.number).isInstanceOf[Changelog]

    def isGroups(ref: StreamRef): Boolean = all(ref.number) match {
      case Changelog(_: Groups, _, _) => true
      case _ => false
    }

    def hasWatermark(ref: StreamRef): Boolean = all(ref.number).exists(_.isInstanceOf[EventTimeWatermark])

    /** The changes of groups as a stream; its columns are `output`. Times of events among them bound nothing any more. */
    def addGroups(groups: Groups, output: Seq[Attribute]): StreamRef = {
      all += Changelog(groups, groups.output.last, Seq(groups.output.last))
      val columns = output.zip(groups.output).map { case (a, named) =>
        AttributeReference(MeaningTexts.asName(named.name), a.dataType)(a.exprId)
      }
      val called = if (groups.purpose.isDefined) "partners" else if (groups.shape.columns.isEmpty) "total" else "groups"
      named(StreamRef(all.size - 1, columns), called)
    }

    /** The changes of the rows of a plan as a stream. */
    def addRows(rows: WeightedRows, output: Seq[Attribute]): StreamRef = {
      val weight = rows.plan.output.last
      all += Changelog(rows.plan, weight, Seq(weight))
      val columns = output.map(a => AttributeReference(MeaningTexts.asName(rows.text(a)), a.dataType)(a.exprId))
      named(StreamRef(all.size - 1, columns), "rows")
    }

    private def named(ref: StreamRef, name: String): StreamRef = {
      RelationNames.call(ref, name)
      ref
    }

    /** Leaves that have one row at most: groups of all rows. */
    def single(leaves: IndexedSeq[LogicalPlan]): Set[Int] = leaves.indices.filter { i =>
      DeltaCompiler.isLinear(leaves(i)) && !leaves(i).exists(_.isInstanceOf[Union]) && leaves(i).collect {
        case ref: StreamRef => all(ref.number) match {
            case Changelog(groups: Groups, _, _) => groups.shape.columns.isEmpty
            case _ => false
          }
      }.forall(identity)
    }.toSet

    /** Takes down what is made of groups above them. */
    def note(ref: StreamRef, above: RowsSpec, zone: Option[String]): Unit = all(ref.number) match {
      case changelog @ Changelog(groups: Groups, _, _) =>
        val shape = groups.shape.copy(above = Some(above), zone = TimeZones.both(groups.shape.zone, zone))
        all(ref.number) = changelog.copy(child = groups.copy(shape = shape))
      case _ =>
    }

    /** The leaves in which a changelog takes part. */
    def changelogs(leaves: IndexedSeq[LogicalPlan]): Set[Int] =
      leaves.indices.filter(i => leaves(i).exists { case ref: StreamRef => isChangelog(ref); case _ => false }).toSet

    /** The plan with references in the place of its streams, each under fresh attributes. */
    def taken(plan: LogicalPlan): LogicalPlan = plan match {
      case _: Changelog | _: EventTimeWatermark | _: DeltaRows => reference(plan)
      case MaskedStream(child) => taken(child)
      case leaf if leaf.children.isEmpty => if (leaf.isStreaming) reference(leaf) else takenBelow(leaf)
      case other => takenBelow(other.mapChildren(taken))
    }

    private def takenBelow(plan: LogicalPlan): LogicalPlan =
      if (plan.subqueries.isEmpty) plan
      else plan.transformExpressions { case s: SubqueryExpression => s.withNewPlan(Subqueries.renewed(taken(s.plan))) }

    private def reference(stream: LogicalPlan): LogicalPlan = {
      all += stream
      val ref = StreamRef(all.size - 1, stream.output.map(_.newInstance()))
      Project(renamed(ref.output, stream.output), ref)
    }

    /** The plan with its streams. */
    def restored(plan: LogicalPlan): LogicalPlan = plan.transform { case ref: StreamRef =>
      Project(columns(ref), all(ref.number))
    }

    /** The plan with its streams, and behind its columns the weight of each row; rows of other streams than changelogs
      * weigh 1.
      */
    def weighted(plan: LogicalPlan): LogicalPlan = plan match {
      case ref: StreamRef =>
        all(ref.number) match {
          case Changelog(changes, weight, _) => Project(columns(ref) :+ named(weight), changes)
          case other => Project(columns(ref) :+ named(Literal(1L)), other)
        }
      case Project(list, child) =>
        val below = weighted(child)
        Project(list :+ below.output.last, below)
      case Filter(condition, child) => Filter(condition, weighted(child))
      case union: Union => union.withNewChildren(union.children.map(weighted))
      case other => throw new IllegalStateException(s"${other.nodeName} has no place above a changelog.")
    }

    private def named(weight: Expression): NamedExpression = Alias(weight, DeltaForm.Weight.column)()

    private def columns(ref: StreamRef): Seq[NamedExpression] = renamed(all(ref.number).output, ref.output)

    private def renamed(from: Seq[Attribute], to: Seq[Attribute]): Seq[NamedExpression] =
      from.zip(to).map { case (f, t) => InPlaceOf(t, f) }
  }
}

object DeltaCompiler {

  /** Whether the plan asks for changes, or reads a changelog. */
  def hasMarks(plan: LogicalPlan): Boolean =
    plan.exists(node => node.isInstanceOf[Changelog] || node.isInstanceOf[DeltaOutput])

  /** Whether the plan reads a changelog outside of what asks for changes. */
  def reads(plan: LogicalPlan): Boolean = plan match {
    case _: Changelog => true
    case _: DeltaOutput => false
    case other => other.children.exists(reads)
  }

  /** Whether a plan of streams has projections, conditions and unions only. */
  private def isLinear(plan: LogicalPlan): Boolean = plan match {
    case _: StreamRef => true
    case _: Project | _: Filter | _: Union => plan.children.forall(isLinear)
    case _ => false
  }

  /** Sessions of rows that are close in time are no groups of equal rows. */
  private def sessions(plan: LogicalPlan): Option[Reason] =
    plan.collectFirstWithSubqueries {
      case node if node.output.exists(_.metadata.contains(SessionWindow.marker)) =>
        Reason.of(Reason.UnsupportedAggregate, "function" -> "session_window")
    }

  /** What `incrementalEnumerate` put there: the query, the form, and the columns that come out. */
  object Mark {
    def unapply(plan: LogicalPlan): Option[(LogicalPlan, DeltaForm, Seq[Attribute])] = plan match {
      case Project(list, DeltaOutput(query)) =>
        list.collectFirst { case Alias(ChangeColumn(form), _) => form }.map((query, _, list.map(_.toAttribute)))
      case _ => None
    }
  }

  /** `dropDuplicates` of all columns is DISTINCT. */
  private def distinct(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries {
    case Deduplicate(keys, child) if child.isStreaming && AttributeSet(keys) == child.outputSet =>
      Aggregate(child.output, child.output, child)
  }

  private def hideTime(plan: LogicalPlan): LogicalPlan = plan.transformAllExpressionsWithSubqueries {
    case e if Conditions.isTime(e) => Deferred(e)
  }

  private def showTime(plan: LogicalPlan): LogicalPlan =
    plan.transformAllExpressionsWithSubqueries { case Deferred(e) => e }
}
