package io.joinless.spark.compile

import io.joinless.spark.compile.streams.{Emission, GroupCompiler}
import io.joinless.spark.compile.template.{AsOf, DeltaScope, FirstRows, RowNumbers}
import io.joinless.spark.plans.marks.SampleOf
import io.joinless.spark.plans.nodes.StreamRef
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.plans.values.{BestRows, RowOrder}
import io.joinless.spark.rules.blocks.Names
import io.joinless.spark.spec.TimeSpec
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateFunction
import org.apache.spark.sql.catalyst.plans.InnerLike
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.joinless.KeyBytes

/** LIMIT and window functions as groups that store their first rows, or all of them, in an order
  * ([[BestRows]]): later steps need no other stateful node.
  *   - LIMIT n OFFSET m: all rows are one group, whose first n + m are stored; the rows after the
  *     m-th are its result. Where rows can be deleted, all rows are stored, first in several
  *     groups, each with its first n + m rows.
  *   - Window functions: the groups are their partitions. A partition that changes is deleted with
  *     its old rows and inserted with its new ones, and Spark's own operator computes the functions
  *     over both.
  *   - ROW_NUMBER() alone, and a condition that it is at most n: the first n rows of each partition
  *     suffice.
  *
  * An order that does not affect which rows are returned does not affect changes and is removed.
  *
  * @param emission where rows are emitted once they are final, times by which partitions close are
  *   emitted as columns of groups
  */
final private[compile] class OrderedRows(isChangelog: StreamRef => Boolean, emission: Emission) {
  import OrderedRows._

  /** The plan without LIMIT and ORDER BY, and with windows over rows that are already sorted. */
  def grouped(plan: LogicalPlan): Either[Reason, LogicalPlan] =
    refused(plan).toLeft(rewritten(plan))

  /** Why the order or a window function of a plan cannot be kept up to date: it is a function in
    * Python, or differs from one evaluation to the next.
    */
  private def refused(plan: LogicalPlan): Option[Reason] = plan.collect {
    case window: Window if window.isStreaming =>
      window.windowExpressions.flatMap(_.collectFirst { case f: PythonFuncExpression =>
        Reason.of(Reason.UnsupportedAggregate, "function" -> Names.of(f))
      }).headOption.orElse(
        DeltaScope.changing(window.partitionSpec ++ window.orderSpec ++ window.windowExpressions.flatMap(read))
      )
    case FirstRows(order, _, _, _) => DeltaScope.changing(order)
  }.flatten.headOption

  /** The expressions that a window function reads. The functions themselves do not count: Spark
    * calls FIRST_VALUE and the like random, as they depend on the order of rows, which here is
    * fixed.
    */
  private def read(e: Expression): Seq[Expression] = e match {
    case f: AggregateFunction => f.children
    case other if other.exists(_.isInstanceOf[AggregateFunction]) => other.children.flatMap(read)
    case other => Seq(other)
  }

  /** The plan with groups in place of each LIMIT, and below each window. Where a filter above a
    * window keeps none but the first n rows of a partition, its groups store n rows, else all.
    */
  private def rewritten(plan: LogicalPlan): LogicalPlan = plan match {
    case Project(list, Filter(condition, join: AsOf)) => Project(list, asOf(join, Some(condition), AttributeSet(list)))
    case Project(list, join: AsOf) => Project(list, asOf(join, None, AttributeSet(list)))
    case Filter(condition, join: AsOf) => asOf(join, Some(condition), join.outputSet)
    case join: AsOf => asOf(join, None, join.outputSet)
    case rows: FirstRows => if (rows.isAll) rewritten(rows.child) else first(rows)
    case Filter(condition, window: Window) if window.isStreaming =>
      Filter(condition, windowed(window, RowNumbers.atMost(condition, window)))
    case Filter(condition, Project(list, window: Window)) if window.isStreaming =>
      Filter(condition, Project(list, windowed(window, RowNumbers.atMost(condition, window))))
    case window: Window if window.isStreaming => windowed(window, None)
    // Spark repeats here the condition of the filter above its window
    case WindowGroupLimit(_, _, _, _, child) if plan.isStreaming => rewritten(child)
    case other => other.mapChildren(rewritten)
  }

  /** An as-of join below a condition.
    *
    * @param needed the columns that are read above both
    */
  private def asOf(join: AsOf, condition: Option[Expression], needed: AttributeSet): LogicalPlan = {
    val (above, below) = condition.fold((Option.empty[Expression], join))(AsOfJoins.pushed(_, join))
    val rows = AsOfJoins.grouped(
      below.mapChildren(rewritten).asInstanceOf[AsOf],
      needed ++ AttributeSet.fromAttributeSets(above.map(_.references))
    )
    above.fold(rows)(Filter(_, rows))
  }

  /** The rows of a LIMIT as those of one group of all rows. A group stores the skipped rows, too,
    * which are cut off its array.
    */
  private def first(requested: FirstRows): LogicalPlan = {
    val FirstRows(order, skip, most, child) = requested
    val rows = withColumn(rewritten(child))
    val limit = most.map(_ + skip).filter(_ <= Int.MaxValue).map(_.toInt.max(1))
    // of samples there are few rows: those of each cell
    val some = limit.filter(_ => canGo(rows) && !rows.isInstanceOf[SampleOf]).fold(rows)(ofParts(rows, order, _))
    val known = groups(Nil, some, order, limit, "")
    val array = known.output.last
    val skipped = skip.min(Int.MaxValue - 1L).toInt
    // Spark's slice returns nothing where its end is no INT, unless its code is generated
    val longest = Int.MaxValue - skipped
    val emitted =
      if (skip == 0 && !most.contains(0L)) array
      else Slice(array, Literal(skipped + 1), Literal(most.fold(longest.toLong)(_.min(longest)).toInt))
    Project(child.output, ExplodedGroups(known, emitted, rows.output))
  }

  /** Whether rows can be deleted. */
  private def canGo(rows: LogicalPlan): Boolean = rows.exists {
    case ref: StreamRef => isChangelog(ref)
    case _: SampleOf => true
    case join: Join => !join.joinType.isInstanceOf[InnerLike]
    case _: Aggregate => true
    case _ => false
  }

  /** The first `limit` rows, in this order, of each of 64 parts of all rows, by a hash of their
    * columns: the first `limit` of all rows are among them. All rows if no column can be hashed.
    */
  private def ofParts(rows: LogicalPlan, order: Seq[SortOrder], limit: Int): LogicalPlan = {
    val columns = rows.output.filter(a => KeyBytes.hashable(a.dataType))
    if (columns.isEmpty) rows
    else {
      val part = Pmod(new Murmur3Hash(columns), Literal(Parts))
      val known = groups(Seq(Alias(part, "part")()), rows, order, Some(limit), "", inParts = true)
      Project(rows.output, ExplodedGroups(known, known.output.last, rows.output))
    }
  }

  /** A window over the rows of groups, one group per partition, whose rows are stored in order.
    *
    * @param limit the number of rows of each partition that are needed; None for all
    */
  private def windowed(window: Window, limit: Option[Int]): LogicalPlan = {
    val (rows, order) = inOrder(window)
    val keys = window.partitionSpec.map(key => Alias(key, Names.of(key))())
    val byKeys = if (keys.isEmpty) "" else s" by ${names(keys.map(_.child))}"
    val grouped = groups(keys, rows, order, limit, byKeys)
    val partitions = grouped.output.init
    // closing times are known of columns of groups, but not of values in an array
    val times = rows.output.flatMap { a =>
      val key = keys.indexWhere(_.child.semanticEquals(a))
      Option.when(emission.isFinal && key >= 0 && TimeSpec.isTime(a.dataType))(a -> partitions(key))
    }
    Project(
      window.output,
      window.copy(partitionSpec = partitions, child = ExplodedGroups(grouped, grouped.output.last, rows.output, times))
    )
  }

  /** The rows below a window, and their order: the window's own, or the order of its input. Spark
    * relies on the latter where it makes a window of a LIMIT in a correlated subquery.
    */
  private def inOrder(window: Window): (LogicalPlan, Seq[SortOrder]) = {
    val asTheyCome = if (window.orderSpec.isEmpty) ordered(window.child) else None
    asTheyCome.fold((withColumn(rewritten(window.child)), window.orderSpec)) { case (rows, order) =>
      (rewritten(rows), order)
    }
  }

  /** The rows below an ORDER BY, unordered, and its order over their columns; None if the plan is
    * not ordered. (`FirstRows` without offset and limit is an ORDER BY alone.) A projection above
    * it keeps the columns of the order, after its own.
    */
  private def ordered(plan: LogicalPlan): Option[(LogicalPlan, Seq[SortOrder])] = plan match {
    case FirstRows(order, 0L, None, child) => Some((child, order))
    case Filter(condition, child) => ordered(child).map { case (rows, order) => (Filter(condition, rows), order) }
    case Project(list, child) =>
      ordered(child).map { case (rows, order) =>
        val hidden = AttributeSet(order) -- AttributeSet(list.map(_.toAttribute))
        (Project(list ++ rows.output.filter(hidden.contains), rows), order)
      }
    case _ => None
  }
}

private[compile] object OrderedRows {

  /** The number of parts into which the rows below a LIMIT are divided. */
  final private val Parts = 64

  /** A row needs at least one column. */
  private def withColumn(rows: LogicalPlan): LogicalPlan =
    if (rows.output.nonEmpty) rows else Project(Seq(Alias(Literal.TrueLiteral, "present")()), rows)

  /** The expressions in words, for explain. */
  private def names(expressions: Seq[Expression]): String = expressions.map(Names.of).mkString(", ")

  /** Groups of rows by keys: the keys, and the rows in order.
    *
    * @param by the groups, in words
    * @param inParts the groups are parts of the requested rows
    */
  private def groups(
      keys: Seq[Alias],
      rows: LogicalPlan,
      order: Seq[SortOrder],
      limit: Option[Int],
      by: String,
      inParts: Boolean = false
  ): Aggregate = {
    val (struct, byFields) = RowOrder.struct(rows.output, order)
    val best = BestRows(struct, byFields, limit)
    val aggregate = Aggregate(keys.map(_.child), keys :+ Alias(best.toAggregateExpression(), "rows")(), rows)
    val which = limit.fold("all rows")(n => if (n == 1) "the first row" else s"the first $n rows")
    val ordered = if (order.isEmpty) "" else s", ordered by ${names(order)}"
    val parts = if (inParts) s" of each of $Parts parts" else ""
    aggregate.setTagValue(
      GroupCompiler.purpose,
      GroupCompiler.Purpose(which + parts + by + ordered, which + by + ordered, isOfMatches = false)
    )
    aggregate
  }
}
