package io.joinless.spark.rules.time

import scala.collection.mutable

import io.joinless.spark.rules.blocks.{AttributeClasses, Conditions, JoinBlock, Leaf, Term}
import io.joinless.spark.rules.meaning.LeafSource
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeSet,
  EqualNullSafe,
  EqualTo,
  ExprId,
  Expression,
  If,
  Literal
}

/** How long the rows of each relation of a block can be part of later results, by watermark
  * (algorithms A53).
  *
  * A later result has a later row, of some relation s; and that row's event time will be above the
  * watermark W, else it is late and is dropped. Where the block's conditions say that it is at most
  * `t + c`, t being a time of a stored row r, then r cannot be in that result once W has reached
  * `t + c`. Once that is so for all other relations, r is not needed any more. One relation without
  * a bound suffices to keep r indefinitely.
  * {{{
  * a JOIN b ON … AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR
  *     rows of a: until W = a.ts + 1 h
  *     rows of b: until W = b.ts
  * }}}
  * Evicting rows never changes or emits a result: only rows are evicted that no later row can
  * match.
  *
  * @param columns per leaf, its stored columns
  * @param all per leaf, the kinds of its rows
  */
final private[rules] class Lifetimes(
    block: JoinBlock,
    classes: AttributeClasses,
    columns: IndexedSeq[AttributeSet],
    all: IndexedSeq[IndexedSeq[KindOfRows]]
) {

  private[this] val streams = block.leaves.indices.filter(i => block.leaves(i).plan.isStreaming)

  private[this] val known = mutable.Map.empty[Seq[KindOfRows], TimeBounds]

  private[this] val conditions =
    block.residuals ++ block.cuts ++ block.filters.flatten ++ block.leaves.flatMap(windows) ++
      classes.attributes.flatMap(c => c.members.tail.map(m => equality(c.members.head, m, c.nullSafe)))

  /** Per leaf, the kinds of its rows, each with the stored columns by which its rows are late: a
    * time, and windows that contain it. Only stored columns count, as late rows are found by them.
    */
  private[this] val kinds: IndexedSeq[IndexedSeq[KindOfRows]] = all.zip(columns).map { case (of, stored) =>
    of.map(kind => kind.copy(times = kind.times.filter { case (time, _) => stored.contains(time) }))
  }

  /** Per leaf, the watermark until which its rows are needed, or why there is none. */
  val of: IndexedSeq[Either[Boundless, Lifetime]] = block.leaves.indices.map { r =>
    val (boundless, ends) = kinds(r).map(until(r, _)).partitionMap(identity)
    boundless.headOption.toLeft(Lifetime(ends))
  }

  /** Until when rows of one kind are needed: columns of leaf `r`, each with the microseconds after
    * it that the watermark must reach. They must outlive each kind of rows of each other stream; of
    * the ends by one column, the latest counts.
    */
  private def until(r: Int, own: KindOfRows): Either[Boundless, IndexedSeq[(Attribute, Long)]] = {
    val others = for (s <- streams if s != r; kind <- kinds(s)) yield s -> kind
    val endPerKind = others.map { case (s, kind) =>
      val bounds = boundsOf(own, kind)
      s -> kind.times.flatMap { case (time, lag) =>
        latest(bounds, time, r, own).map { case (column, distance) => column -> TimeBounds.sum(distance, lag) }
      }.headOption
    }
    endPerKind.collectFirst { case (s, None) => Boundless(s) }.toLeft {
      val terms = endPerKind.flatMap(_._2)
      terms.map(_._1).distinct.map(column => column -> terms.filter(_._1 == column).map(_._2).max).toIndexedSeq
    }
  }

  /** A column of `r`, and how much later than it `time` can be at most: its event time, where that
    * is bounded by it.
    */
  private def latest(bounds: TimeBounds, time: Attribute, r: Int, own: KindOfRows): Option[(Attribute, Long)] =
    (own.times.map(_._1) ++ block.leaves(r).attributes.filter(columns(r).contains)).iterator
      .filterNot(a => own.constants.contains(a.exprId))
      .flatMap(column => bounds(time, column).map(column -> _)).nextOption()

  /** How many microseconds an event time of later results can be below the watermark at most; None
    * where no condition bounds it. Each such result has a later row, of the column's own leaf or of
    * another one, whose time is at most so much later.
    */
  def lag(column: Attribute): Option[Long] = leafOf(column).flatMap(lag(_, column).toOption)

  /** The leaf of an event time of results, and a leaf whose later rows can match its rows at any
    * time (unbounded).
    */
  def unbounded(column: Attribute): Option[(Int, Boundless)] =
    leafOf(column).flatMap(r => lag(r, column).left.toOption.map(r -> _))

  /** The leaf of which a column is an event time. */
  private def leafOf(column: Attribute): Option[Int] =
    block.leaves.indices.find { r =>
      block.leaves(r).attributes.exists(a => a.exprId == column.exprId && Conditions.isEventTime(a))
    }

  /** The lag of a time of leaf `r`: by the latest that a later row of some leaf can join its rows.
    * A leaf whose later rows are not bounded is returned instead.
    */
  private def lag(r: Int, column: Attribute): Either[Boundless, Long] = {
    val lags = for (own <- kinds(r); s <- streams; kind <- kinds(s) if s != r || (kind eq own)) yield {
      val bounds = boundsOf(own, kind)
      s -> kind.times.flatMap { case (time, lag) => bounds(time, column).map(TimeBounds.sum(_, lag)) }.minOption
    }
    lags.collectFirst { case (s, None) => Boundless(s) }.toLeft((0L +: lags.flatMap(_._2)).max)
  }

  /** The bounds on times where rows of these kinds join. All rows that are no part of a union have
    * the same.
    */
  private def boundsOf(own: KindOfRows, other: KindOfRows): TimeBounds = {
    val withFacts = Seq(own, other).filter(kind => kind.constants.nonEmpty || kind.neverNull.exists(_.nullable))
    known.getOrElseUpdate(withFacts, boundsOf(withFacts))
  }

  /** The bounds that the conditions imply for rows of these kinds. Their constants replace columns.
    * An `If` whose condition has become TRUE or FALSE is the branch that holds. `<=>` is `=` where
    * a side is never NULL. Kinds that add none of this may be left out.
    */
  private def boundsOf(kinds: Seq[KindOfRows]): TimeBounds = {
    val constants = kinds.flatMap(_.constants).toMap
    val neverNull = AttributeSet(kinds.flatMap(_.neverNull) ++ block.leaves.flatMap(_.attributes.filterNot(_.nullable)))

    /** The expression as it is for rows of these kinds. */
    def inTheseRows(e: Expression): Expression = e.transformUp {
      case a: Attribute => constants.getOrElse(a.exprId, a)
      case If(Literal.TrueLiteral, holds, _) => holds
      case If(Literal.FalseLiteral, _, holds) => holds
    }

    /** Whether a value is a column that is never NULL in these rows. */
    def isThere(e: Expression) = e match { case a: Attribute => neverNull.contains(a); case _ => false }
    new TimeBounds(conditions.map(inTheseRows).flatMap(Conditions.conjuncts).map {
      case EqualNullSafe(a, b) if isThere(a) || isThere(b) => EqualTo(a, b)
      case other => other
    })
  }

  /** Equality conditions between the windows of a leaf and the times that they are made of. */
  private def windows(leaf: Leaf): Seq[Expression] = {
    val source = LeafSource(leaf.plan)
    val values = leaf.columns.map(source.resolve(_))
    for {
      (value @ WindowOfTime(time, _), i) <- values.zipWithIndex
      column = values.indexWhere(_.semanticEquals(time))
      if column >= 0
    } yield EqualTo(
      leaf.attributes(i),
      value.transform { case a: Attribute if a.exprId == time.exprId => leaf.attributes(column) }
    )
  }

  /** The equi-join condition of two terms. */
  private def equality(l: Term, r: Term, nullSafe: Boolean): Expression =
    if (nullSafe) EqualNullSafe(l.expression, r.expression) else EqualTo(l.expression, r.expression)
}

/** Until when the rows of a relation are needed.
  *
  * @param kinds for each kind of rows: they are needed until the watermark has reached all of these
  *   times, each a column and microseconds after it. A row in which a column is NULL is not of that
  *   kind
  */
final private[spark] case class Lifetime(kinds: IndexedSeq[IndexedSeq[(Attribute, Long)]])

/** One kind of rows of a leaf: a part of the union that the leaf is.
  *
  * @param times columns whose value no later row has once the watermark is that much beyond it
  *   ([[EventTimes]])
  * @param neverNull columns that are NULL in none of its rows
  * @param constants columns that are the same in all of its rows
  */
final private[spark] case class KindOfRows(
    times: Seq[(Attribute, Long)],
    neverNull: Seq[Attribute],
    constants: Map[ExprId, Literal]
)

private[spark] object KindOfRows {

  /** Rows of a stream. */
  def of(leaf: Leaf): KindOfRows = KindOfRows(
    leaf.attributes.filter(Conditions.isEventTime).map(_ -> 0L),
    leaf.attributes.filterNot(_.nullable),
    Map.empty
  )
}

/** No condition bounds the times of later rows of this leaf. */
final private[spark] case class Boundless(leaf: Int)
