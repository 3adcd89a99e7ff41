package io.joinless.spark.compile.streams

import scala.collection.mutable.ArrayBuffer

import io.joinless.spark.compile.template.{DeltaScope, Subqueries}
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.{Changelog, Expiry, KeyedRows, MaskedStream}
import io.joinless.spark.plans.nodes.{DeltaRows, Groups, InTime, JoinFreeJoin, StreamRef}
import io.joinless.spark.plans.reasons.{Reason, UnboundedMatches}
import io.joinless.spark.plans.values.{AsOfRows, BestRows, DeltaForm, InPlaceOf, OnlyRow, RowsOfGroup}
import io.joinless.spark.rules.blocks.{Conditions, Leaf, RelationNames}
import io.joinless.spark.rules.counts.WeightedRows
import io.joinless.spark.rules.meaning.{ExpressionTexts, LeafSource, RowsDigest, StoredRows, TimeZones}
import io.joinless.spark.rules.time.EventTimes
import io.joinless.spark.spec.{DerivedNames, OriginSpec, RowsSpec}
import org.apache.spark.sql.catalyst.analysis.{EliminateSubqueryAliases, EliminateView}
import org.apache.spark.sql.catalyst.expressions.{
  Alias,
  Attribute,
  AttributeReference,
  BoundReference,
  Expression,
  InputFileName,
  LateralSubquery,
  Literal,
  NamedExpression,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{
  EventTimeWatermark,
  Expand,
  Filter,
  Generate,
  LogicalPlan,
  Project,
  Union
}

/** The streams of one query, by number: removed from the template that Spark optimizes, and
  * restored when it is compiled. A compiled GROUP BY is a stream of changes for the operators above
  * it.
  *
  * @param emission when rows that the query derives are emitted
  * @param reads how its operators read them
  */
final private[compile] class Streams private (val emission: Emission, all: ArrayBuffer[Source], val reads: Reads)
    extends StreamFacts {
  private var refusal: Option[Reason] = None
  private var unbounded: Option[UnboundedMatches] = None

  def this(emission: Emission) = this(emission, new ArrayBuffer[Source], Reads.Unknown)

  /** The same streams for operators that are known. */
  def of(reads: Reads): Streams = new Streams(emission, all, reads)

  /** Why a stream of the query cannot be read. */
  def refused: Option[Reason] = refusal

  override def unboundedMatches: Option[UnboundedMatches] = unbounded

  /** Notes a relation of a block whose matches are unbounded; the first one counts. */
  def noteUnbounded(matches: Option[UnboundedMatches]): Unit = unbounded = unbounded.orElse(matches)

  override def isChangelog(ref: StreamRef): Boolean = source(ref).weight.isDefined

  /** When rows of the stream expire, over the columns of the reference. */
  def expiry(ref: StreamRef): Option[Expiry] = source(ref).expiry.map { expiry =>
    expiry.copy(column = ref.output(source(ref).output.indexWhere(_.exprId == expiry.column.exprId)))
  }

  override def isGroups(ref: StreamRef): Boolean = source(ref).groups.isDefined

  /** The stream to which a reference points. */
  private def source(ref: StreamRef): Source = all(ref.number)

  override def lag(column: Attribute, ref: StreamRef): Option[Long] =
    source(ref).lag(column, ref.output.indexWhere(_.exprId == column.exprId))

  /** The closing times among a plan's columns, by position: columns that its projections pass on
    * from streams.
    */
  override def times(plan: LogicalPlan): Map[Int, Long] = {
    val refs = plan.collect { case ref: StreamRef => ref }
    EventTimes.of(plan, a => refs.find(_.outputSet.contains(a)).flatMap(lag(a, _)))
  }

  /** The first random expression in the streams of the user's that a plan reads, as the reason why
    * it cannot be read twice: that would return different rows. Names of files are the same.
    */
  def random(plan: LogicalPlan): Option[Reason] = {
    val streams = plan.collect { case ref: StreamRef if !isDerived(ref) => source(ref) }
    DeltaScope.random(
      streams.flatMap(stream => stream.weight.toSeq ++ stream.rows.collect { case node => node.expressions }.flatten),
      _.isInstanceOf[InputFileName]
    )
  }

  /** Whether the stream is changes that the query itself derives, not a changelog of the user's. */
  def isDerived(ref: StreamRef): Boolean = source(ref).isDerived

  /** Whether the stream has a watermark. */
  def hasWatermark(ref: StreamRef): Boolean = source(ref).rows.exists(_.isInstanceOf[EventTimeWatermark])

  /** Adds the changes of groups as a stream; its columns are those of the grouping. Event times
    * among them no longer bound anything. Where groups are emitted once, their rows are only
    * inserted. The stream is a relation of blocks above; checkpoints record the name that it gets
    * here. The groups of a declared key are the rows of their relation: called as it is, and only
    * inserted if these are.
    *
    * @param retractable rows of the groups can be deleted
    */
  def addGroups(groups: Groups, grouping: GroupCompiler.Grouping, retractable: Boolean): StreamRef = {
    val output = grouping.output
    val isKey = groups.shape.isKey
    all += (if (isKey && !retractable) Source.FinalGroups(groups) else emission.source(groups))
    val functions = groups.functions.map(_.function)
    val columns = output.zip(groups.output).zipWithIndex.map { case ((a, ofGroups), i) =>
      // the grouping columns come first, then a column per function
      val name = functions.lift(i - groups.shape.columns.size) match {
        case Some(_: BestRows | _: AsOfRows) => "rows"
        case Some(_: OnlyRow) => "row"
        case _ => ExpressionTexts.asName(ofGroups.name)
      }
      AttributeReference(name, a.dataType)(a.exprId)
    }
    val relationName = if (functions.exists(_.isInstanceOf[RowsOfGroup]))
      DerivedNames.Rows
    else if (groups.purpose.contains(LiteralRows.Purpose.text)) DerivedNames.Literals
    else if (groups.purpose.isDefined) DerivedNames.Matches
    else if (groups.shape.columns.isEmpty) DerivedNames.Total
    else DerivedNames.Groups
    val ofRelation = if (isKey) RelationNames.of(grouping.child) else None
    named(StreamRef(all.size - 1, columns), ofRelation.getOrElse(relationName))
  }

  /** An empty set of rows with these columns, read from the first stream of the query. */
  def none(output: Seq[Attribute]): WeightedRows = {
    val columns = output.map(a => Alias(Literal(null, a.dataType), "result")()) :+ named(Literal(1L))
    val plan = Project(columns, Filter(Literal.FalseLiteral, all.head.rows))
    WeightedRows(plan, output.map(_ => -1), ExpressionTexts.plain, retractable = false)
  }

  /** Adds the rows of a plan as a stream. */
  def addRows(rows: WeightedRows, output: Seq[Attribute]): StreamRef = {
    all += emission.source(rows)
    val columns = output.map(a => AttributeReference(ExpressionTexts.asName(rows.text(a)), a.dataType)(a.exprId))
    named(StreamRef(all.size - 1, columns), DerivedNames.Rows)
  }

  /** The reference, with a name for the relation that it is in blocks. */
  private def named(ref: StreamRef, name: String): StreamRef = {
    RelationNames.call(ref, name)
    ref
  }

  /** The leaves that have at most one row: groups of all rows. */
  def single(leaves: IndexedSeq[LogicalPlan]): Set[Int] = leaves.indices.filter { i =>
    Streams.isLinear(leaves(i)) && !leaves(i).exists(_.isInstanceOf[Union]) && leaves(i).collect {
      case ref: StreamRef => source(ref) match {
          case Source.ChangingGroups(groups) => groups.shape.columns.isEmpty
          case _ => false
        }
    }.forall(identity)
  }.toSet

  /** The columns of a leaf by which its rows are unique: they are groups, by columns that the leaf
    * passes on.
    */
  def uniqueBy(leaf: Leaf): Option[Seq[Attribute]] = leaf.plan.collect { case ref: StreamRef => ref } match {
    case Seq(ref) if isGroups(ref) && Streams.isLinear(leaf.plan) && !leaf.plan.exists(_.isInstanceOf[Union]) =>
      val below = LeafSource(leaf.plan)
      val columns = ref.output.take(source(ref).groups.get.shape.columns.size).map { key =>
        leaf.columns.indexWhere(a => below.resolve(a).semanticEquals(key))
      }
      Option.when(columns.forall(_ >= 0))(columns.map(leaf.attributes))
    case _ => None
  }

  /** Records in the groups that `ref` reads the filters and expressions above them; other streams
    * stay as they are.
    *
    * @param zone the time zone in which these expressions are evaluated, where they depend on one
    */
  def note(ref: StreamRef, above: RowsSpec, zone: Option[String]): Unit = source(ref) match {
    case Source.ChangingGroups(groups) =>
      val shape = groups.shape.copy(above = Some(above), zone = TimeZones.both(groups.shape.zone, zone))
      all(ref.number) = Source.ChangingGroups(groups.copy(shape = shape))
    case _ =>
  }

  /** The leaves that read a changelog. */
  def changelogs(leaves: IndexedSeq[LogicalPlan]): Set[Int] =
    leaves.indices.filter(i => leaves(i).exists { case ref: StreamRef => isChangelog(ref); case _ => false }).toSet

  /** The plan with references in place of its streams, each with fresh attributes. */
  def taken(plan: LogicalPlan): LogicalPlan = plan match {
    case _: Changelog | _: EventTimeWatermark | _: DeltaRows => reference(plan)
    case MaskedStream(child) => taken(child)
    case leaf if leaf.children.isEmpty => if (leaf.isStreaming) reference(leaf) else takenBelow(leaf)
    case other => takenBelow(other.mapChildren(taken))
  }

  /** The node with references in place of the streams in its subqueries. */
  private def takenBelow(plan: LogicalPlan): LogicalPlan =
    if (plan.subqueries.isEmpty) plan
    else plan.transformExpressions {
      case s: LateralSubquery => s.withNewPlan(renamed(Subqueries.renewed(taken(s.plan)), s.plan.output))
      case s: SubqueryExpression => s.withNewPlan(Subqueries.renewed(taken(s.plan)))
    }

  /** The columns of a lateral subquery are those of the outer rows. */
  private def renamed(plan: LogicalPlan, as: Seq[Attribute]): LogicalPlan = Project(renamed(plan.output, as), plan)

  /** Adds a stream, and returns a reference to it in its place, under its columns. Where its
    * marks cannot be merged, the query is refused (`refusal`).
    */
  private def reference(plan: LogicalPlan): LogicalPlan = {
    plan.collectFirst { case rows: KeyedRows => throw JoinlessErrors.key("BELOW", "source" -> rows.source) }
    val stream = ExpiringChangelogs.merged(plan).fold(r => { refusal = Some(r); plan }, identity)
    all += (stream match {
      case changelog: Changelog => Source.Marked(changelog)
      case rows => Source.Appended(rows)
    })
    val ref = StreamRef(all.size - 1, stream.output.map(_.newInstance()))
    Project(renamed(ref.output, stream.output), ref)
  }

  /** The plan in which streams replace their references. */
  def restored(plan: LogicalPlan): LogicalPlan = plan.transform { case ref: StreamRef =>
    sameName(ref, Project(columns(ref), source(ref).rows))
  }

  /** The rows of a block's leaf. Late rows of streams are dropped by a stored event time. They are
    * dropped earlier where no such time is stored and other operators read the stream, too, or
    * where the leaf also has rows that are not of streams, and never late.
    */
  def appended(scan: LogicalPlan): LogicalPlan = {
    val source = LeafSource(scan)
    val storesTime = scan.output.exists(a => Conditions.isEventTime(a) && source.resolve(a).isInstanceOf[Attribute])
    val hasDerivedRows = scan.exists { case ref: StreamRef => isDerived(ref); case _ => false }
    if (!hasDerivedRows && (storesTime || !reads.severalTimes)) restored(scan)
    else scan.transform { case ref: StreamRef =>
      sameName(ref, Project(columns(ref), inTime(ref)))
    }
  }

  /** The source, called as the reference is, by which relations are named in the record and in
    * explain.
    */
  private def sameName(ref: StreamRef, source: LogicalPlan): LogicalPlan = {
    RelationNames.called(ref).foreach(RelationNames.call(source, _))
    source
  }

  /** The origin of the rows of a block's leaf, as it is recorded and compared at a restart. The
    * digest is of the plan below the topmost projections and conditions. The conditions are in
    * `filters`, as texts.
    *
    * @param keys positions of columns that are never NULL in a stored row
    */
  def origin(leaf: LogicalPlan, keys: Set[Int]): OriginSpec = {

    /** The plan below its topmost projections and conditions. */
    def withoutConditions(plan: LogicalPlan): LogicalPlan = plan match {
      case Project(_, child) => withoutConditions(child)
      case Filter(_, child) => withoutConditions(child)
      case other => other
    }
    val sources = withoutConditions(leaf).transform { case ref: StreamRef =>
      sameName(ref, Project(columns(ref) ++ source(ref).weight.map(named), source(ref).rows))
    }
    val spec = LeafSource.rows(leaf, keys)
    RowsDigest.origin(sources, spec.values).copy(filters = StoredRows.filters(leaf, keys))
  }

  /** The locations of the sources that a plan reads. */
  def places(plan: LogicalPlan): IndexedSeq[String] =
    plan.collect { case ref: StreamRef => RowsDigest.places(source(ref).rows) }.flatten.toIndexedSeq

  /** The locations of all sources. */
  def places: Set[String] = all.flatMap(source => RowsDigest.places(source.rows)).toSet

  /** The conditions below the marks of the changelogs that a plan reads, and what makes several rows
    * of one there, as they are recorded.
    */
  def filtersOfChangelogs(plan: LogicalPlan): IndexedSeq[String] = belowMarks(plan).flatMap { rows =>
    StoredRows.filters(rows) ++ rows.collect { case made: Generate => ExpressionTexts.unqualified(made.generator) }
  }

  /** The time zones on which these conditions depend. */
  def zonesOfChangelogs(plan: LogicalPlan): Option[String] =
    belowMarks(plan).map(rows => TimeZones.ofTexts(LeafSource(rows).conditions)).reduceOption(TimeZones.both).flatten

  /** The plans below the marks of the changelogs that a plan reads, without aliases and views. */
  private def belowMarks(plan: LogicalPlan): IndexedSeq[LogicalPlan] = plan.collect { case ref: StreamRef =>
    source(ref) match {
      case Source.Marked(mark) => Some(EliminateView(EliminateSubqueryAliases(mark.child)))
      case _ => None
    }
  }.flatten.toIndexedSeq

  /** The plan with its streams, followed by the weight of each row: 1 in streams without weights.
    * Where several operators read one stream, late rows of streams without weights are dropped
    * here.
    *
    * @param plan projections, conditions and unions of references only ([[Streams.isLinear]])
    */
  def weighted(plan: LogicalPlan): LogicalPlan = plan match {
    case ref: StreamRef =>
      val stream = source(ref)
      val rows = if (stream.weight.isEmpty && reads.severalTimes) inTime(ref) else stream.rows
      sameName(ref, Project(columns(ref) :+ named(stream.weight.getOrElse(Literal(1L))), rows))
    case Project(list, child) =>
      val weightedChild = weighted(child)
      Project(list :+ weightedChild.output.last, weightedChild)
    case Filter(condition, child) => Filter(condition, weighted(child))
    case union: Union => union.withNewChildren(union.children.map(weighted))
    case other => throw new IllegalStateException(s"${other.nodeName} has no place above a changelog.")
  }

  /** The rows of a stream that are not late; rows that the query itself derives never are. */
  private def inTime(ref: StreamRef): LogicalPlan = {
    val stream = source(ref).rows
    if (isDerived(ref) || !stream.output.exists(Conditions.isEventTime)) stream
    else {
      val read = reads.times.getOrElse(ref.number, Nil)
      val times = read.map(_.transform { case BoundReference(column, _, _) => stream.output(column) })
      InTime(times, Streams.lag(stream), stream)
    }
  }

  /** Rows with overlapping windows, without those whose own window has ended. */
  def windowsInTime(rows: WeightedRows, expand: Expand): WeightedRows = {
    val late = if (reads.severalTimes) TimesRead.varying(expand) else Nil
    val refs = expand.collect { case ref: StreamRef if !isDerived(ref) => ref }
    if (late.isEmpty || refs.isEmpty) rows
    else
      rows.copy(plan =
        InTime(late.map(rows.plan.output), refs.map(ref => Streams.lag(source(ref).rows)).max, rows.plan)
      )
  }

  /** The weight as the column of that name. */
  private def named(weight: Expression): NamedExpression = Alias(weight, DeltaForm.Weight.column)()

  /** The columns of a stream under the ids of its reference. */
  private def columns(ref: StreamRef): Seq[NamedExpression] = renamed(source(ref).output, ref.output)

  /** The columns `from` under the ids of `to`. */
  private def renamed(from: Seq[Attribute], to: Seq[Attribute]): Seq[NamedExpression] =
    from.zip(to).map { case (f, t) => InPlaceOf(t, f) }
}

/** How the operators of a query read its streams.
  *
  * @param order the order in which it passes on its columns
  *   ([[io.joinless.spark.compile.ColumnOrder]])
  * @param times the times by which rows of a stream are late ([[TimesRead]])
  * @param severalTimes several operators read one stream, and may wait for different times
  */
final private[compile] case class Reads(
    order: IndexedSeq[IndexedSeq[String]],
    times: Map[Int, Seq[Expression]],
    severalTimes: Boolean
)

private[compile] object Reads {
  val Unknown: Reads = Reads(IndexedSeq.empty, Map.empty, severalTimes = false)
}

private[compile] object Streams {

  /** By how many microseconds event times of a stream that is itself a query of this kind can be
    * below the watermark: the lags of its operators, added up along the path where they are most.
    */
  private def lag(stream: LogicalPlan): Long = {
    val own = stream match {
      case join: JoinFreeJoin => join.lag
      case groups: Groups => groups.lag
      case _ => 0L
    }
    own + stream.children.map(lag).maxOption.getOrElse(0L)
  }

  /** Whether a plan of streams has projections, conditions and unions only. */
  def isLinear(plan: LogicalPlan): Boolean = plan match {
    case _: StreamRef => true
    case _: Project | _: Filter | _: Union => plan.children.forall(isLinear)
    case _ => false
  }
}
