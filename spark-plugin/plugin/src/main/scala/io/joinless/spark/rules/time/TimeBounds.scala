package io.joinless.spark.rules.time

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}

/** The bounds that the conditions of a block imply on the times of rows that join: how much later
  * one column can be than another at most, closed over all columns by shortest paths (a system of
  * difference constraints).
  * {{{
  * b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR     b.ts <= a.ts + 1 h     a.ts <= b.ts
  * c.ts < b.ts + INTERVAL '2' HOUR                    c.ts <= b.ts + 2 h - 1 us
  *                                                    so c.ts <= a.ts + 3 h - 1 us
  * }}}
  * A column with a condition that holds of a result is not NULL in it. Equalities that treat NULL
  * as a value imply nothing here: both sides can be NULL.
  */
final private[rules] class TimeBounds(conditions: Seq[Expression]) {
  import TimeBounds._

  private[this] val columns =
    AttributeSet(conditions.flatMap(bounds).flatMap(b => Seq(b.later, b.earlier))).toIndexedSeq

  private[this] val most: Array[Array[Long]] = {
    val d = Array.fill(columns.size, columns.size)(Unbounded)
    columns.indices.foreach(i => d(i)(i) = 0L)
    for (b <- conditions.flatMap(bounds)) {
      val (i, j) = (place(b.later), place(b.earlier))
      d(i)(j) = math.min(d(i)(j), b.most)
    }
    for (k <- columns.indices; i <- columns.indices; j <- columns.indices) d(i)(j) =
      math.min(d(i)(j), sum(d(i)(k), d(k)(j)))
    d
  }

  /** How many microseconds `later` can be later than `earlier` at most (below 0: how many it must
    * be earlier at least); None where nothing bounds it.
    */
  def apply(later: Attribute, earlier: Attribute): Option[Long] = {
    val (i, j) = (place(later), place(earlier))
    if (i < 0 || j < 0) Option.when(later.exprId == earlier.exprId)(0L) else Some(most(i)(j)).filter(_ != Unbounded)
  }

  /** The index of a column in the matrix; −1 if no condition bounds it. */
  private def place(column: Attribute): Int = columns.indexWhere(_.exprId == column.exprId)
}

private[rules] object TimeBounds {
  final private val Unbounded = Long.MaxValue

  /** `later <= earlier + most`. */
  final private case class Bound(later: Attribute, earlier: Attribute, most: Long)

  /** The sum of two distances; `Unbounded` if either is, or if the sum overflows. Contradictory
    * conditions have no result, so any value will do for a sum that underflows.
    */
  def sum(a: Long, b: Long): Long =
    if (a == Unbounded || b == Unbounded) Unbounded
    else {
      val sum = a + b
      if (((a ^ sum) & (b ^ sum)) >= 0) sum else if (a < 0) Long.MinValue / 4 else Unbounded
    }

  /** What a condition implies where it holds; nothing where it is no comparison of two times, or
    * compares them over a distance beyond all times.
    */
  private def bounds(condition: Expression): Seq[Bound] =
    try
      condition match {
        case TryEval(e) => bounds(e) // it holds where `e` does
        case LessThanOrEqual(l, r) => ordered(l, r, strictly = false)
        case LessThan(l, r) => ordered(l, r, strictly = true)
        case GreaterThanOrEqual(l, r) => ordered(r, l, strictly = false)
        case GreaterThan(l, r) => ordered(r, l, strictly = true)
        case EqualTo(l, r) => equal(l, r)
        case _ => Nil
      }
    catch { case _: ArithmeticException => Nil }

  /** What the equality of two times implies: a bound in either direction. */
  private def equal(l: Expression, r: Expression): Seq[Bound] =
    (for (left <- TimeTerm.ofEqual(l); right <- TimeTerm.ofEqual(r))
      yield between(left, right, strictly = false) ++ between(right, left, strictly = false))
      .getOrElse(ordered(l, r, strictly = false) ++ ordered(r, l, strictly = false))

  /** What `small <= large` implies, or `small < large`: at most one bound; nothing where a side is
    * not known. One side may be a difference of times:
    * {{{
    * b.ts - a.ts <= INTERVAL '1' HOUR     b.ts <= a.ts + 1 hour
    * }}}
    */
  private def ordered(small: Expression, large: Expression, strictly: Boolean): Seq[Bound] = (small, large) match {
    case (SubtractTimestamps(later, earlier, _, zone), interval) =>
      moved(TimeTerm.of(later), TimeTerm.of(earlier), TimeTerm.difference(interval, zone), strictly)
    case (interval, SubtractTimestamps(later, earlier, _, zone)) =>
      moved(TimeTerm.of(earlier), TimeTerm.of(later), TimeTerm.difference(interval, zone).map(_.negated), strictly)
    case _ => (for (s <- TimeTerm.of(small); l <- TimeTerm.of(large)) yield between(s, l, strictly)).getOrElse(Nil)
  }

  /** What `small <= large + by` implies, or `small < large + by`; nothing where one of the three is
    * not known.
    */
  private def moved(
      small: Option[TimeTerm],
      large: Option[TimeTerm],
      by: Option[Distance],
      strictly: Boolean
  ): Seq[Bound] =
    (for (s <- small; l <- large; d <- by) yield between(s, l.shifted(d), strictly)).getOrElse(Nil)

  /** The bound that `small <= large` implies on their columns, or `small < large`; nothing if their
    * values have different steps.
    */
  private def between(small: TimeTerm, large: TimeTerm, strictly: Boolean): Seq[Bound] =
    if (small.step != large.step) Nil
    else {
      val most = Math.subtractExact(large.most, small.least)
      Seq(Bound(small.column, large.column, if (strictly) Math.subtractExact(most, small.step) else most))
    }
}
