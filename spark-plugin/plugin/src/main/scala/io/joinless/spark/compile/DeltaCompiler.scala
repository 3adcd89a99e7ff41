package io.joinless.spark.compile

import io.joinless.spark.compile.streams.{Changes, Emission, GroupCompiler, Reads, StaticRows, Streams}
import io.joinless.spark.compile.template.{AsOfQueries, CurrentTime, DeltaScope, FirstRows}
import io.joinless.spark.compile.template.{ResultKey, StoredInput, Subqueries}
import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.{
  ChangeColumn,
  ChangeFeeds,
  Changelog,
  DeltaOutput,
  KeyedRows,
  ReadOnce,
  SampleOf,
  TakenAsRows
}
import io.joinless.spark.plans.nodes.{DeltaRows, StreamRef}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.blocks.{AttributeClasses, Conditions, JoinBlock, RelationNames}
import io.joinless.spark.rules.counts.WeightedRows
import io.joinless.spark.rules.extract.{ExtractJoinBlock, StaticSides}
import io.joinless.spark.rules.meaning.{LeafSource, MadeNames, MeaningTexts, TimeZones}
import io.joinless.spark.rules.rewrite.{BlockForms, BlockLayout, Eligibility, NamedOnce, RecordedOrder}
import io.joinless.spark.rules.scans.Scan
import io.joinless.spark.spec.{BlockShape, ColumnsInOrder, MeaningSpec, OriginSpec, RecordedQuery, SqlTexts}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, AttributeReference, AttributeSet, SessionWindow}
import org.apache.spark.sql.catalyst.optimizer.InlineCTE
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  Deduplicate,
  Expand,
  Filter,
  Generate,
  Join,
  LocalRelation,
  LogicalPlan,
  Project,
  Union,
  Window,
  WithCTE
}

/** Turns a query whose changes are requested into operators that maintain its result, once for all
  * batches.
  *
  *   1. Each stream of the query, with its watermarks, becomes an opaque [[StreamRef]]; a changelog
  *      is a stream.
  *   1. Spark's own optimizer runs on this template: it pushes filters, prunes columns, and stops
  *      where blocks are rewritten (`optimize`).
  *   1. From below, each GROUP BY becomes a stateful node ([[GroupCompiler]]), which is a stream of
  *      changes to all operators above, as a changelog is.
  *   1. The remaining plan is read as a block by the same rules as a plain query's
  *      ([[ExtractJoinBlock]], [[Eligibility]]), from one relation on; [[DeltaScope]] says what
  *      else may stand in it. Rows of which nothing must be stored pass through unchanged.
  *   1. The streams replace their references; a changelog's stream has the weight of each row after
  *      the stored columns.
  *
  * From then on no batch can change the block. Expressions of the current time are hidden from the
  * optimizer, which would fold them to its own time.
  *
  * @param texts how expressions are recorded for readers of the checkpoint
  * @param recorded the contents of the query's checkpoint: they continue, and settings that decide
  *   on new blocks do not apply to them. None where it has none
  * @param optimize runs Spark's optimizer on a template, up to where blocks are rewritten in a
  *   batch
  * @param static how static tables are read
  */
final class DeltaCompiler(
    conf: JoinlessConf,
    texts: SqlTexts,
    recorded: => Option[RecordedQuery],
    optimize: LogicalPlan => LogicalPlan,
    static: StaticRows
) {

  /** The plan with a compiled query in place of each mark; or the first reason why one cannot be
    * compiled. Throws where a changelog is read outside of all marks.
    */
  def apply(plan: LogicalPlan): Either[Reason, LogicalPlan] = {
    var reason: Option[Reason] = None
    val compiled = DeltaCompiler.inlined(plan).transformUp {
      case mark @ DeltaCompiler.Mark(query, form, output) if reason.isEmpty =>
        ChangeFeeds.unmarked(query).toLeft(()).flatMap(_ => compiledQuery(query, form, output)).fold(
          r => { reason = Some(r); mark },
          identity
        )
    }
    reason.toLeft {
      compiled.collectFirst { case unmarked @ (_: Changelog | _: SampleOf) => unmarked }.foreach { unmarked =>
        throw JoinlessErrors.retractionsNotRepresentable(unmarked.output.map(_.name).mkString(", "))
      }
      DeclaredKeys.refuse(compiled)
      compiled
    }
  }

  /** Compiles a query whose rows are only inserted so that each row is emitted once it is final.
    *
    * @param needed its columns that are needed, in its order
    */
  def finalRows(query: LogicalPlan, needed: Seq[Attribute]): Either[Reason, LogicalPlan] = {
    val columns = needed.distinctBy(_.exprId)
    val form = DeltaForm.OnClose
    compiledQuery(Project(columns, query), form, columns :+ AttributeReference(form.column, form.dataType)())
      .map(Project(needed, _))
  }

  /** A unique key of a query's result, where the query implies one ([[ResultKey]]). */
  def key(query: LogicalPlan): Option[Seq[Attribute]] = {
    val plan = optimize(FirstRows.in(AsOfQueries.in(templateOf(DeltaCompiler.inlined(query), new Streams(Changes)))))
    ResultKey(plan).map(_.map(k => query.output(plan.output.indexWhere(_.exprId == k.exprId))))
  }

  /** The query as Spark's optimizer gets it: streams are opaque references, which `streams`
    * numbers; expressions of the current time are hidden.
    */
  private def templateOf(query: LogicalPlan, streams: Streams): LogicalPlan =
    DeltaCompiler.distinct(CurrentTime.hidden(streams.taken(TakenAsRows.removed(ReadOnce.removed(query)))))

  implicit private val statics: StaticSides = StaticSides(conf.staticsAtArrival)

  private def compiledQuery(query: LogicalPlan, form: DeltaForm, output: Seq[Attribute]): Either[Reason, LogicalPlan] =
    if (conf.enabled) static.compiled(query)(compiledAsRead(_, form, output)) else Left(Reason(Reason.Disabled))

  /** Compiles a query into the operators that emit its changes in this form; or the reason why it
    * cannot be compiled. Its streams are numbered when the template is made. A later step adds the
    * streams that it derives, and reads what the steps before it noted. So the sequence matters.
    *
    * @param output the result's columns, then the column of the form
    */
  private def compiledAsRead(
      query: LogicalPlan,
      form: DeltaForm,
      output: Seq[Attribute]
  ): Either[Reason, LogicalPlan] = {
    val emission = Emission.of(form)
    val taken = new Streams(emission) // how operators read them is known below: `streams`
    val template = templateOf(query, taken)
    RelationNames.note(template)
    val read = template.collect { case ref: StreamRef => ref }
    val compiled = for {
      _ <- DeltaCompiler.sessions(query).orElse(taken.refused).toLeft(())
      restored =
        ColumnOrder.restored(
          Subqueries.named(optimized(template, emission)),
          recorded.toSeq.flatMap(_.orders(taken.places))
        )
      keyed = DeclaredKeys.checked(restored, emission)
      sampled = new SampledRows(conf.severalCells, recordedBlocks).merged(keyed)
      ordered <- new OrderedRows(taken.isChangelog, emission).grouped(emission.literals(sampled, taken.isChangelog))
      inner <- new MatchJoins(emission, taken.random).inner(emission.nested(ordered))
      reads = Reads(ColumnOrder.of(restored), emission.timesRead(ordered), emission.readsSeveralTimes(inner))
      streams = taken.of(reads)
      plan <- inputs(inner, streams)
      rows <- result(plan, streams)
      operators = WrongRules.kept(NamedOnce(emission.emitted(rows)))
      _ <- (if (recorded.isDefined) None else TooLarge.in(operators)).toLeft(())
    } yield {
      val unbounded = emission.unbounded(output.init, rows, streams)
      CurrentTime.shown(DeltaRows(operators, form, rows.projected, output, unbounded))
    }
    compiled.left.map(DeltaScope.above(read.exists(taken.isChangelog)))
  }

  /** The optimized template; the plans of the joins that replace subqueries are optimized, too. */
  private def optimized(template: LogicalPlan, emission: Emission): LogicalPlan = {
    val found = !emission.isFinal && AsOfJoins.areFound(recorded)
    val first = named(FirstRows.in(if (found) AsOfQueries.in(template) else template))
    FirstRows.in(if (Subqueries.has(first)) named(FirstRows.in(Subqueries.joined(first))) else first)
  }

  /** The template optimized, with expressions and names in a form that later steps read. */
  private def named(template: LogicalPlan): LogicalPlan =
    MadeNames.replaced(WrongRules.replaced(optimize(template)))

  /** The plan in which a stream of changes replaces each GROUP BY, each sample, each
    * [[StoredInput]], each side of a join that is more than rows of a stream, and the parts of a
    * union whose rows expire. Left: the first reason why one of them cannot be compiled.
    */
  private def inputs(plan: LogicalPlan, streams: Streams): Either[Reason, LogicalPlan] = {
    var reason: Option[Reason] = None

    /** The stream in place of `part`; if there is none, keeps the part. The first reason why is
      * returned.
      */
    def replaced(part: LogicalPlan)(stream: Either[Reason, LogicalPlan]): LogicalPlan =
      stream.fold(r => { reason = reason.orElse(Some(r)); part }, identity)

    /** A side of a join, with rows that are no stream's replaced by a stream of changes. */
    def side(plan: LogicalPlan): LogicalPlan = plan match {
      case _: Project | _: Filter => plan.withNewChildren(plan.children.map(side))
      case _: Union | _: Expand | _: Generate | _: Window | _: SampleOf if isNoStream(plan, streams) =>
        replaced(plan)(stored(plan, streams))
      case other => other
    }
    val changed = plan.transformUp {
      case aggregate: Aggregate if aggregate.isStreaming && reason.isEmpty =>
        replaced(aggregate)(groups(aggregate, streams))
      case StoredInput(child) if reason.isEmpty => replaced(child)(stored(child, streams))
      case union: Union if reason.isEmpty && union.exists(expires(_, streams)) =>
        // rows of the other parts have no such time: the union reads rows that expire as changes
        val isStream = !isRowWise(union, streams)
        union.withNewChildren(union.children.map { part =>
          if ((isStream || Streams.isLinear(part)) && part.exists(expires(_, streams)))
            replaced(part)(stored(part, streams))
          else part
        })
      case join: Join if Conditions.joinsStreams(join) && reason.isEmpty =>
        join.withNewChildren(join.children.map(side))
    }
    reason.toLeft(changed)
  }

  /** Whether it is a stream whose rows expire. */
  private def expires(plan: LogicalPlan, streams: Streams): Boolean = plan match {
    case ref: StreamRef => streams.expiry(ref).isDefined
    case _ => false
  }

  /** Whether it is a union with joins in it, explode, ROLLUP and the like, below projections and
    * conditions: rows that no single stream has.
    */
  private def isNoStream(plan: LogicalPlan, streams: Streams): Boolean = plan match {
    case union: Union => union.children.exists(part => ExtractJoinBlock.holdsBlock(part) || isNoStream(part, streams))
    case Project(_, child) => isNoStream(child, streams)
    case Filter(_, child) => isNoStream(child, streams)
    case _: Expand | _: Generate | _: Window => isRowWise(plan, streams)
    case _: SampleOf => true
    case _ => false
  }

  /** A stream of the changes of a plan's rows, for a block above that stores them. */
  private def stored(plan: LogicalPlan, streams: Streams): Either[Reason, LogicalPlan] =
    rows(plan, streams, Consumer.Block).map(streams.addRows(_, plan.output))

  /** The changes of a sample. It is drawn from the results of a block, without listing them, where
    * the plan is one, and one of its relations has all columns by which results are grouped; else
    * from rows that are stored one by one.
    */
  private def sampled(mark: SampleOf, streams: Streams): Either[Reason, WeightedRows] = {
    val consumer = Consumer.Sample(SampledRows.spec(mark), mark.by)

    /** Whether each result of the plan is one of a block, and each group a tuple of its tree's root.
      */
    def isBlock = !isRowWise(mark.child, streams) && extracted(mark.child, streams).exists { block =>
      block.late.isEmpty && block.leaves.forall(leaf => Streams.isLinear(leaf.plan)) &&
      SampledRows.groupedBy(block, mark.by).exists { by =>
        by.isEmpty || isOfOneRelation(joinable(block.copy(groupedBy = by), streams, consumer))
      }
    }

    def isOfOneRelation(layout: BlockLayout) =
      layout.hypergraph.edges.exists(layout.classes.groupedBy.subsetOf(_))
    for {
      _ <- Option.when(streams.emission.isFinal)(Reason(Reason.SampleIsNotFinal)).toLeft(())
      input <- if (isBlock) Right(mark.child) else stored(mark.child, streams)
      rows <- block(input, streams, consumer)
    } yield rows
  }

  /** The block that a plan is, with the times by which its rows are bounded. */
  private def extracted(plan: LogicalPlan, streams: Streams): Either[Reason, JoinBlock] =
    ExtractJoinBlock(withTimes(plan, streams), plan.outputSet).map(streams.emission.timed(_, streams))

  /** A stream of the changes of a GROUP BY's results, below the projection to the columns of the
    * aggregate. Its input is compiled first.
    */
  private def groups(aggregate: Aggregate, streams: Streams): Either[Reason, LogicalPlan] = for {
    grouping <- GroupCompiler.grouping(aggregate)
    rows <- rows(grouping.child, streams, Consumer.Groups(GroupCompiler.demand(grouping)))
    purpose = aggregate.getTagValue(GroupCompiler.purpose)
    closes <- streams.emission.closes(grouping, rows, streams, purpose)
  } yield {
    val groups = GroupCompiler.groups(grouping, rows, closes).copy(purpose = purpose.map(_.text))
    val known = groups.copy(shape = groups.shape.copy(order = streams.reads.order))
    Project(grouping.results, streams.addGroups(known, grouping, rows.retractable))
  }

  /** The changes of the result. Where operators above blocks and groups make its rows one by one,
    * its columns are recorded in their order.
    */
  private def result(plan: LogicalPlan, streams: Streams): Either[Reason, WeightedRows] = {
    val changes = rows(plan, streams, Consumer.Result)
    if (isRowWise(plan, streams)) changes.map(_.emitting(plan.output)) else changes
  }

  /** The changes of the rows of a plan without groups. */
  private def rows(plan: LogicalPlan, streams: Streams, consumer: Consumer): Either[Reason, WeightedRows] =
    stateless(plan, streams, consumer).map(Right(_)).getOrElse(plan match {
      case LocalRelation(output, Seq(), true, _) => Right(streams.none(output)) // left by LIMIT 0
      case union: Union if isRowWise(union, streams) => united(union, streams, consumer.ofRows)
      case expand: Expand if isRowWise(expand, streams) =>
        rows(expand.child, streams, consumer.ofRows).map(rows => streams.windowsInTime(rows.expand(expand), expand))
      case generate: Generate if isRowWise(generate, streams) =>
        rows(generate.child, streams, consumer.ofRows).map(_.generate(generate))
      case sample: SampleOf => sampled(sample, streams)
      case window: Window if isRowWise(window, streams) =>
        rows(window.child, streams, consumer.ofWindows).map(_.windows(window))
      case Project(list, child) if isRowWise(child, streams) =>
        rows(child, streams, consumer.ofRows).map(_.project(list, child))
      case Filter(condition, child) if isRowWise(child, streams) =>
        rows(child, streams, consumer.ofRows).map(_.filter(condition, child))
      case _ => block(plan, streams, consumer)
    })

  /** Whether a plan processes rows one by one above joins or groups: a union of which a part does
    * so, ROLLUP and the like, explode, or a projection or filter of these. A union of streams is a
    * stream.
    */
  private def isRowWise(plan: LogicalPlan, streams: Streams): Boolean = plan match {
    case union: Union =>
      union.children.exists(part =>
        isRowWise(part, streams) || ExtractJoinBlock.holdsBlock(part) || part.exists {
          case ref: StreamRef => streams.isGroups(ref)
          case _ => false
        }
      )
    case _: SampleOf => true
    case Window(_, _, _, child, _) => isRowWise(child, streams)
    case _: Expand | _: Generate => plan.isStreaming && DeltaScope.changing(plan.expressions).isEmpty
    case Project(list, child) => DeltaScope.changing(list).isEmpty && isRowWise(child, streams)
    case Filter(condition, child) => DeltaScope.changing(Seq(condition)).isEmpty && isRowWise(child, streams)
    case _ => false
  }

  /** The changes of a union's rows, part by part; or the first reason why a part has none. */
  private def united(union: Union, streams: Streams, consumer: Consumer): Either[Reason, WeightedRows] = {
    val (refused, parts) = union.children.map(rows(_, streams, consumer)).partitionMap(identity)
    refused.headOption.toLeft(WeightedRows.united(union, parts))
  }

  /** The rows of a plan of which nothing must be stored: projections and conditions on groups,
    * whose changes agree with what was emitted before; or, below a GROUP BY, on insert-only rows
    * none of which is late, or for which the groups decide which are late.
    */
  private def stateless(plan: LogicalPlan, streams: Streams, consumer: Consumer): Option[WeightedRows] = {
    val refs = plan.collect { case ref: StreamRef => ref }
    val groups = refs.filter(streams.isGroups)
    def late(ref: StreamRef) = streams.hasWatermark(ref) && !streams.emission.isFinal
    def appended = !consumer.isResult && !refs.exists(ref => streams.isChangelog(ref) || late(ref))
    val linear = Streams.isLinear(plan) && (refs == groups && refs.size == 1 || groups.isEmpty && appended)
    if (!linear || !DeltaScope.passes(plan)) None
    else {
      val source = LeafSource(plan)
      val retractable = groups.exists(streams.isChangelog)
      if (retractable) groups.foreach(streams.note(_, LeafSource.rows(plan, Set.empty), TimeZones.ofTextsIn(plan)))
      val projected = plan.output.map(source.resolve(_)).map {
        case a: Attribute => groups.headOption.fold(-1)(_.output.indexWhere(_.exprId == a.exprId))
        case _ => -1
      }
      Some(WeightedRows(
        streams.weighted(plan),
        projected,
        e => MeaningTexts.ofValue(e, plan),
        retractable,
        times = streams.times(plan)
      ))
    }
  }

  /** The changes of the rows of a join block, or of a single relation, or why it is no block of
    * ours. A block below a GROUP BY may be counted instead of enumerated, if the consumer has a
    * demand.
    */
  private def block(plan: LogicalPlan, streams: Streams, consumer: Consumer): Either[Reason, WeightedRows] = for {
    read <- extracted(plan, streams)
    asWritten = consumer match {
      case Consumer.Sample(_, by) => SampledRows.grouped(read, by)
      case _ => read
    }
    _ <- new DeltaScope(streams.isChangelog, streams.expiry(_).isDefined)(asWritten).toLeft(())
    _ <- streams.emission.refused(asWritten, streams).toLeft(())
    layout = joinable(asWritten, streams, consumer)
    block = layout.block
    single = streams.single(block.leaves.map(_.plan))
    tree <- new Eligibility(conf, None, compiled = true, recorded.isDefined, single)(layout)
  } yield {
    val forms =
      new BlockForms(conf, texts, layoutOf(_, streams), tree, _.leaves.forall(leaf => Streams.isLinear(leaf.plan)))
    streams.noteUnbounded(streams.emission.unboundedMatches(layout, streams))
    val sample = consumer.sample.flatMap(forms.sampled(layout, _))
    // counts would keep all rows
    val form =
      sample.getOrElse(consumer.demand.filterNot(_ => streams.emission.isFinal).fold(forms.enumerated(layout)) {
        demand =>
          // a plain query counts equal results in update mode; a query whose changes are requested need
          // not
          forms.of(layout, Seq(demand, demand.copy(once = false)).distinct, recordedBlocks)
      })
    val template = block.leaves.indices.map(i => form.rewrite.scan(i, form.layout.block.leaves(i).plan))
    val scans = template.zipWithIndex.map { case (scan, i) =>
      // the scans are merged in each batch
      Scan(if (layout.changelogs(i) || form.counts) streams.weighted(scan) else streams.appended(scan), Seq(i))
    }
    val origins = template.zipWithIndex.map { case (scan, i) => streams.origin(scan, form.layout.keysOf(i)) }
    val shape = form.shape.having(OriginSpec, Some(origins)).having(ColumnsInOrder, streams.reads.order)
    val zone = template.map(streams.zonesOfChangelogs).reduce(TimeZones.both)
    val before = shape.filteredBefore(template.map(streams.filtersOfChangelogs))
    val filtered = before.having(
      MeaningSpec,
      before.meaning.map { m =>
        // below groups and joins, columns of results are matched by name
        val known = if (consumer.isResult) Nil else recordedBlocks.flatMap(_.meaning).map(_.values)
        val values = known.find(_ == m.values).orElse(known.find(_.sorted == m.values.sorted)).getOrElse(m.values)
        m.copy(values = values, zone = TimeZones.both(m.zone, zone))
      }
    )
    form.rewrite.weighted(filtered, scans)
      .copy(times = layout.times)
  }

  /** The layout of a block that has a cycle only if it is joined by intersection. */
  private def joinable(block: JoinBlock, streams: Streams, consumer: Consumer): BlockLayout =
    new CyclicBlocks(conf, recordedBlocks)(block, consumer)(layoutOf(_, streams))

  /** The shapes of the blocks in the checkpoint. */
  private def recordedBlocks: Seq[BlockShape] = recorded.toSeq.flatMap(_.blocks)

  /** The layout of a block, with columns and conditions in the order of a recorded block that is
    * the same.
    */
  private def layoutOf(block: JoinBlock, streams: Streams): BlockLayout = {
    lazy val places = block.leaves.map(leaf => streams.places(leaf.plan))
    RecordedOrder(block, recordedBlocks, _.origins.exists(_.map(_.places) == places))(layoutAsRead(_, streams))
  }

  /** The layout of a block in its own order, with what is known of its streams: which are
    * changelogs, whose rows expire, and by what time.
    */
  private def layoutAsRead(block: JoinBlock, streams: Streams): BlockLayout = {
    val expiring = for {
      (leaf, i) <- block.leaves.zipWithIndex
      ref <- leaf.plan.collectFirst { case ref: StreamRef => ref }
      expiry <- streams.expiry(ref)
    } yield i -> expiry.copy(column = leaf.attributes(leaf.columns.indexWhere(_.exprId == expiry.column.exprId)))
    BlockLayout(
      block,
      AttributeClasses(block),
      streams.changelogs(block.leaves.map(_.plan)),
      conf.keyErrorsAreNull,
      expiring.toMap,
      block.leaves.map(streams.uniqueBy)
    ).copy(forgets = streams.emission.isFinal, kinds = streams.emission.kinds(block, streams))
  }

  /** The plan in which projections pass on the times by which rows of streams expire. */
  private def withTimes(plan: LogicalPlan, streams: Streams): LogicalPlan = {
    val times = plan.collect { case ref: StreamRef => streams.expiry(ref).map(_.column) }.flatten
    if (times.isEmpty) plan
    else plan.transformUp { case project @ Project(list, child) =>
      val missing = times.filter(t => child.outputSet.contains(t) && !project.outputSet.contains(t))
      if (missing.isEmpty) project else Project(list ++ missing, child)
    }
  }
}

object DeltaCompiler {

  /** The plan with each common table expression in place of its uses. */
  private[compile] def inlined(plan: LogicalPlan): LogicalPlan =
    if (plan.exists(_.isInstanceOf[WithCTE])) InlineCTE(alwaysInline = true)(plan) else plan

  /** Whether the plan requests changes, or has rows that are deleted: of a changelog or a sample. */
  def hasMarks(plan: LogicalPlan): Boolean = plan.exists {
    case _: Changelog | _: KeyedRows | _: SampleOf | _: DeltaOutput => true
    case _ => false
  }

  /** Whether the plan has rows that are deleted, where no changes are requested. */
  def reads(plan: LogicalPlan): Boolean = plan match {
    case _: Changelog | _: KeyedRows | _: SampleOf | _: ReadOnce => true
    case _: DeltaOutput => false
    case other => other.children.exists(reads)
  }

  /** Refuses sessions: rows that are close in time are not groups of equal rows. */
  private def sessions(plan: LogicalPlan): Option[Reason] =
    plan.collectFirstWithSubqueries {
      case node if node.output.exists(_.metadata.contains(SessionWindow.marker)) =>
        Reason.of(Reason.UnsupportedAggregate, "function" -> "session_window")
    }

  /** The nodes of `incrementalEnumerate`: the query, the form, and the output columns. */
  object Mark {
    def unapply(plan: LogicalPlan): Option[(LogicalPlan, DeltaForm, Seq[Attribute])] = plan match {
      case Project(list, DeltaOutput(query)) =>
        list.collectFirst { case Alias(ChangeColumn(form), _) => form }.map((query, _, list.map(_.toAttribute)))
      case _ => None
    }
  }

  /** `dropDuplicates` of all columns is DISTINCT. */
  private def distinct(plan: LogicalPlan): LogicalPlan = plan.transformDownWithSubqueries {
    case rows: Deduplicate if rows.isStreaming && AttributeSet(rows.keys) == rows.child.outputSet =>
      Aggregate(rows.child.output, rows.child.output, rows.child)
  }
}
