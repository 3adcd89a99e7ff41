package io.joinless.spark.compile.streams

import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin, StreamRef}
import io.joinless.spark.plans.reasons.{Reason, UnboundedMatches, UnboundedTime}
import io.joinless.spark.rules.blocks.{Conditions, JoinBlock, Leaf, Names, OuterScope}
import io.joinless.spark.rules.counts.WeightedRows
import io.joinless.spark.rules.meaning.LeafSource
import io.joinless.spark.rules.rewrite.BlockLayout
import io.joinless.spark.rules.time.{Boundless, EventTimes, KindOfRows}
import io.joinless.spark.spec.TimeSpec
import org.apache.spark.sql.catalyst.expressions.{Attribute, IsNotNull, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, LogicalPlan, Union}
import org.apache.spark.sql.types.{MetadataBuilder, TimestampType}

/** When rows of a result are final, where they are emitted once (`emit = "on_close"`).
  *
  * All rows are only inserted. Rows of a join are final at once. A group is final once the
  * watermark has passed its event time: a time that all of its rows have, and below which no later
  * row can be:
  * {{{
  * SELECT window(ts, '1 hour') AS w, COUNT(*) FROM clicks GROUP BY w
  *     rows are late once W has reached ts
  * SELECT window(a.ts, '1 hour') AS w, COUNT(*) FROM a JOIN b ON a.k = b.k
  *   AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' DAY GROUP BY w
  *     if b.ts <= a.ts + c: then no row of a is joined any more once W has reached a.ts + c,
  *     so W - c is the watermark of the groups
  * }}}
  * So a GROUP BY needs such a time among its columns; for a join it must bound the times of all
  * joined rows ([[EventTimes]]).
  */
private[compile] object Finality {

  /** Why a block's rows are never final. */
  def refused(block: JoinBlock, streams: StreamFacts): Option[Reason] =
    block.leaves.find(_.plan.exists { case ref: StreamRef => streams.isChangelog(ref); case _ => false }).map { leaf =>
      never(s"rows of ${leaf.name} can be deleted", "Request all changes, by incrementalEnumerate().")
    }

  /** The plan in which the topmost of our operators report, to the operators of Spark above, by how
    * much the times of their rows lag behind.
    */
  def lagging(plan: LogicalPlan, lags: Iterable[Long]): LogicalPlan = {

    /** The plan with the lag at its topmost operators of ours. */
    def top(plan: LogicalPlan): LogicalPlan = plan match {
      case join: JoinFreeJoin => join.copy(lag = lags.max)
      case groups: Groups => groups.copy(lag = lags.max)
      case other => other.mapChildren(top)
    }
    if (lags.isEmpty) plan else top(plan)
  }

  /** The block in which a column of a leaf is marked as an event time exactly where it is a closing
    * time. Those of groups are never NULL.
    */
  def timed(block: JoinBlock, streams: StreamFacts): JoinBlock = block.copy(leaves = block.leaves.map { leaf =>
    val refs = leaf.plan.collect { case ref: StreamRef => ref }
    val times = streams.times(leaf.plan)

    /** The column, marked as an event time or not. */
    def marked(a: Attribute, isTime: Boolean): Attribute =
      if (isTime == Conditions.isEventTime(a)) a
      else {
        val metadata = new MetadataBuilder().withMetadata(a.metadata)
        val key = EventTimeWatermark.delayKey
        a.withMetadata((if (isTime) metadata.putLong(key, 0L) else metadata.remove(key)).build())
      }
    leaf.copy(attributes = leaf.attributes.zipWithIndex.map { case (a, i) =>
      val time = marked(a, times.contains(i))
      if (times.contains(i) && refs.forall(streams.isGroups)) time.withNullability(false) else time
    })
  })

  /** Per leaf, the kinds of its rows: those of a union, such as the rows of an outer join's right
    * side and the NULLs for rows without a match.
    */
  def kinds(block: JoinBlock, streams: StreamFacts): IndexedSeq[IndexedSeq[KindOfRows]] = block.leaves.map { leaf =>
    val parts = leaf.plan match {
      case union: Union => union.children.toIndexedSeq
      case plan => IndexedSeq(plan)
    }
    parts.map(kind(_, leaf.attributes, streams))
  }

  /** What holds for all rows of a part: its closing times with their lags, the columns that are not
    * NULL, and those that have a constant value; as attributes of the leaf.
    */
  private def kind(part: LogicalPlan, attributes: IndexedSeq[Attribute], streams: StreamFacts): KindOfRows = {
    val refs = part.collect { case ref: StreamRef => ref }
    val times = streams.times(part)
    val source = LeafSource(part)
    val values = part.output.map(source.resolve(_))
    val checked = source.conditions.collect { case IsNotNull(e) => e }
    KindOfRows(
      times.toSeq.sortBy(_._1).map { case (i, lag) => attributes(i) -> lag },
      attributes.indices.filter { i =>
        times.contains(i) && refs.forall(streams.isGroups) || !values(i).nullable || checked.exists(
          _.semanticEquals(values(i))
        )
      }.map(attributes),
      attributes.zip(values).collect { case (a, constant: Literal) => a.exprId -> constant }.toMap
    )
  }

  /** The columns of a query's rows that are times and by which nothing closes.
    *
    * @param output the query's columns
    */
  def unbounded(output: Seq[Attribute], rows: WeightedRows, streams: StreamFacts): Seq[UnboundedTime] = for {
    matches <- streams.unboundedMatches.toSeq
    i <- output.indices if Conditions.isEventTime(output(i)) && !rows.times.contains(i)
  } yield UnboundedTime(i, matches)

  /** For the advice of an error: a relation of a block whose event time the block projects, while
    * no condition bounds how much later rows of another relation match its rows; None if there is
    * none. Later results can have times long before the watermark then.
    */
  def unboundedMatches(layout: BlockLayout, streams: StreamFacts): Option[UnboundedMatches] = {
    val leaves = layout.block.leaves

    /** The names of the closing times of the streams that a leaf reads. */
    def closingTimes(leaf: Leaf) = for {
      ref <- leaf.plan.collect { case ref: StreamRef => ref }
      time <- ref.output if streams.lag(time, ref).isDefined
    } yield TimeSpec.nameOf(time)
    val projected = layout.block.output.flatMap { case (_, value) => OuterScope.attributes(value) }
    val found = for {
      (Left(Boundless(by)), leaf) <- layout.lifetimes.zip(leaves)
      time <- leaf.attributes.find(a => Conditions.isEventTime(a) && projected.contains(a))
    } yield {
      // of a computed time, such as a window, the time that it is computed of
      val known = closingTimes(leaf)
      val called = known.find(_ == time.name).orElse(known.headOption).getOrElse(time.name)
      UnboundedMatches(leaf.name, called, leaves(by).name, closingTimes(leaves(by)).headOption)
    }
    found.headOption
  }

  /** The grouping columns by which groups close, with their lags, or why groups never close. */
  def closes(
      grouping: GroupCompiler.Grouping,
      rows: WeightedRows,
      streams: StreamFacts,
      purpose: Option[GroupCompiler.Purpose]
  ): Either[Reason, IndexedSeq[TimeSpec]] = {
    val keys = EventTimes.in(grouping.keys, rows.lag(grouping.child)).toIndexedSeq.sorted.map((TimeSpec(_, _)).tupled)
    // groups that are emitted with their first row need not close: they stay
    if (keys.nonEmpty || grouping.functions.isEmpty && grouping.keys.nonEmpty) Right(keys)
    else
      Left(streams.unboundedMatches.filter(_ => grouping.keys.map(_.toAttribute).exists(Conditions.isEventTime)).fold {
        val groups = purpose.map(_.emits).getOrElse(
          if (grouping.keys.isEmpty) "the group of all rows"
          else s"groups by ${grouping.keys.map(Names.of).mkString(", ")}"
        )
        never(
          s"$groups can change for ever",
          if (purpose.exists(_.isOfMatches)) ofMatches(grouping)
          else
            "Group or partition by a column that has a watermark, or by window(...) of it, beside other columns: in each set of a ROLLUP."
        )
      } { matches =>
        never(s"nothing bounds how late rows of ${matches.by} join rows of ${matches.relation}", matches.advice)
      })
  }

  /** Advice on a semi, anti or outer join whose condition is not bounded in time: it lacks a bound,
    * or the watermark of a time that it compares.
    */
  private def ofMatches(grouping: GroupCompiler.Grouping): String = {
    // the name of a computed column is the text of its expression
    val (missing, times) =
      grouping.keys.filter(_.dataType == TimestampType).partition(_.name == Literal(null, TimestampType).sql)
    val compared = times.map(_.toAttribute)
    if (missing.nonEmpty)
      "The condition compares a time that rows without a match in an outer join below do not have: let it compare one that each row has, such as that of a LEFT JOIN's left side."
    else if (compared.isEmpty || compared.exists(Conditions.isEventTime))
      "Let the condition of the join, EXISTS or IN bound the times of both sides, as that of an inner join, and give both a watermark."
    else {
      val names = compared.map(_.name).distinct.mkString(", ")
      s"Give its stream a watermark, withWatermark('${compared.head.name}', ...): the condition compares $names, and nothing says which of these times have passed."
    }
  }

  /** The reason that rows are never final. */
  private def never(why: String, advice: String): Reason =
    Reason.of(Reason.NeverFinal, "why" -> why, "advice" -> advice)
}
