package io.joinless.spark.compile.streams

import io.joinless.spark.compile.template.{OuterChains, UnionParts}
import io.joinless.spark.plans.nodes.{Groups, StreamRef}
import io.joinless.spark.plans.reasons.{Reason, UnboundedMatches, UnboundedTime}
import io.joinless.spark.plans.values.DeltaForm
import io.joinless.spark.rules.blocks.{Conditions, JoinBlock}
import io.joinless.spark.rules.counts.WeightedRows
import io.joinless.spark.rules.extract.StaticSides
import io.joinless.spark.rules.rewrite.BlockLayout
import io.joinless.spark.rules.time.KindOfRows
import io.joinless.spark.spec.TimeSpec
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/** When the rows of a compiled query are emitted: whenever they change ([[Changes]]), or once, when
  * they are final ([[OnceFinal]]). The steps of the compiler in which the two differ, in their
  * order.
  */
sealed abstract private[compile] class Emission {

  /** Rows are only inserted. */
  def isFinal: Boolean

  /** The plan in which literals are rows that an operator emits. */
  def literals(plan: LogicalPlan, isChangelog: StreamRef => Boolean): LogicalPlan

  /** The times by which rows of streams are late, beside those that operators store. */
  def timesRead(plan: LogicalPlan): Map[Int, Seq[Expression]]

  /** The plan in which LEFT JOINs have the times that bound them. */
  def nested(plan: LogicalPlan): LogicalPlan

  /** The parts of a side of a join that are joined by themselves. */
  def parts(side: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan]

  /** An inner join whose sides may have such parts. */
  def ofParts(join: Join)(implicit statics: StaticSides): LogicalPlan

  /** Whether several operators read one stream, and may wait for different times. */
  def readsSeveralTimes(plan: LogicalPlan): Boolean

  /** Groups as a stream of the operators above. */
  def source(groups: Groups): Source

  /** Rows as a stream of the operators above. */
  def source(rows: WeightedRows): Source

  /** The block with the times by which its rows are final. */
  def timed(block: JoinBlock, streams: StreamFacts): JoinBlock

  /** Why rows of a block are never emitted. */
  def refused(block: JoinBlock, streams: StreamFacts): Option[Reason]

  /** Per leaf of a block, the kinds of its rows, where they differ. */
  def kinds(block: JoinBlock, streams: StreamFacts): Option[IndexedSeq[IndexedSeq[KindOfRows]]]

  /** A relation of a block whose matches are unbounded, if there is one and it matters. */
  def unboundedMatches(layout: BlockLayout, streams: StreamFacts): Option[UnboundedMatches]

  /** The grouping columns by which groups close, with their lags; empty where groups are emitted
    * whenever they change, and need not close. Else, why groups that must close never do.
    */
  def closes(
      grouping: GroupCompiler.Grouping,
      rows: WeightedRows,
      streams: StreamFacts,
      purpose: Option[GroupCompiler.Purpose]
  ): Either[Reason, IndexedSeq[TimeSpec]]

  /** The plan of the query's rows. */
  def emitted(rows: WeightedRows): LogicalPlan

  /** The columns of the query that are times and by which nothing closes. */
  def unbounded(output: Seq[Attribute], rows: WeightedRows, streams: StreamFacts): Seq[UnboundedTime]
}

private[compile] object Emission {

  /** The emission that a form of changes requests. */
  def of(form: DeltaForm): Emission = if (form == DeltaForm.OnClose) OnceFinal else Changes
}

/** Rows are emitted whenever they change. */
private[compile] case object Changes extends Emission {
  override def isFinal: Boolean = false

  override def literals(plan: LogicalPlan, isChangelog: StreamRef => Boolean): LogicalPlan =
    new LiteralRows(isChangelog).replaced(plan)

  override def timesRead(plan: LogicalPlan): Map[Int, Seq[Expression]] = Map.empty
  override def nested(plan: LogicalPlan): LogicalPlan = plan
  override def parts(side: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan] = Seq(side)
  override def ofParts(join: Join)(implicit statics: StaticSides): LogicalPlan = join
  override def readsSeveralTimes(plan: LogicalPlan): Boolean = false
  override def source(groups: Groups): Source = Source.ChangingGroups(groups)
  override def source(rows: WeightedRows): Source = Source.ChangingRows(rows.plan)
  override def timed(block: JoinBlock, streams: StreamFacts): JoinBlock = block
  override def refused(block: JoinBlock, streams: StreamFacts): Option[Reason] = None
  override def kinds(block: JoinBlock, streams: StreamFacts): Option[IndexedSeq[IndexedSeq[KindOfRows]]] = None
  override def unboundedMatches(layout: BlockLayout, streams: StreamFacts): Option[UnboundedMatches] = None

  override def closes(
      grouping: GroupCompiler.Grouping,
      rows: WeightedRows,
      streams: StreamFacts,
      purpose: Option[GroupCompiler.Purpose]
  ): Either[Reason, IndexedSeq[TimeSpec]] = Right(IndexedSeq.empty)

  override def emitted(rows: WeightedRows): LogicalPlan = rows.plan
  override def unbounded(output: Seq[Attribute], rows: WeightedRows, streams: StreamFacts): Seq[UnboundedTime] = Nil
}

/** Each row is emitted once, when it is final ([[Finality]]). */
private[compile] case object OnceFinal extends Emission {
  override def isFinal: Boolean = true
  override def literals(plan: LogicalPlan, isChangelog: StreamRef => Boolean): LogicalPlan = plan
  override def timesRead(plan: LogicalPlan): Map[Int, Seq[Expression]] = TimesRead.in(plan)
  override def nested(plan: LogicalPlan): LogicalPlan = OuterChains.rightDeep(plan)
  override def parts(side: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan] = UnionParts(side)
  override def ofParts(join: Join)(implicit statics: StaticSides): LogicalPlan = UnionParts.joined(join)

  override def readsSeveralTimes(plan: LogicalPlan): Boolean = plan.exists {
    case join: Join => Conditions.joinsStreams(join)
    case _ => false
  }

  override def source(groups: Groups): Source = Source.FinalGroups(groups)
  override def source(rows: WeightedRows): Source = Source.FinalRows(rows.plan, rows.times)
  override def timed(block: JoinBlock, streams: StreamFacts): JoinBlock = Finality.timed(block, streams)
  override def refused(block: JoinBlock, streams: StreamFacts): Option[Reason] = Finality.refused(block, streams)

  override def kinds(block: JoinBlock, streams: StreamFacts): Option[IndexedSeq[IndexedSeq[KindOfRows]]] =
    Some(Finality.kinds(block, streams))

  override def unboundedMatches(layout: BlockLayout, streams: StreamFacts): Option[UnboundedMatches] =
    Finality.unboundedMatches(layout, streams)

  override def closes(
      grouping: GroupCompiler.Grouping,
      rows: WeightedRows,
      streams: StreamFacts,
      purpose: Option[GroupCompiler.Purpose]
  ): Either[Reason, IndexedSeq[TimeSpec]] = Finality.closes(grouping, rows, streams, purpose)

  override def emitted(rows: WeightedRows): LogicalPlan = Finality.lagging(rows.plan, rows.times.values)

  override def unbounded(output: Seq[Attribute], rows: WeightedRows, streams: StreamFacts): Seq[UnboundedTime] =
    Finality.unbounded(output, rows, streams)
}
