package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, EqualTo, Expression}

/** How long the rows of each relation of a block can be part of results that are still to come, by watermark (algorithms A53).
  *
  * A result that is still to come has a row that is still to come, of some relation s; and that row's event time will be above the
  * watermark W, else it is late and is dropped. Where the block's conditions say that it is at most `t + c`, t being a time of
  * a stored row r, then r cannot be in that result once W has reached `t + c`. Once that is so for all other relations, r is of no
  * further use. It needs one relation without a bound to keep r for ever.
  * {{{
  * a JOIN b ON … AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR      rows of a: until W = a.ts + 1 h
  *                                                                       rows of b: until W = b.ts
  * }}}
  * Results are never changed by this, nor is any told: only rows go that no later row can meet.
  *
  * @param columns per leaf, what is stored of it
  */
final private[rules] class Lifetimes(block: JoinBlock, classes: AttributeClasses, columns: IndexedSeq[AttributeSet]) {

  private[this] val streams = block.leaves.indices.filter(i => block.leaves(i).plan.isStreaming)

  private[this] val bounds = new TimeBounds(
    block.residuals ++ block.cuts ++ block.filters.flatten ++
      classes.attributes.filter(isNeverNull).flatMap(c => c.members.tail.map(m => equation(c.members.head, m)))
  )

  /** The columns by which rows of a leaf are late, where they are stored, as late rows are looked for in what is stored: a time, and
    * windows that it lies in.
    */
  private[this] val eventTimes: IndexedSeq[Seq[Attribute]] =
    block.leaves.zip(columns).map { case (leaf, stored) =>
      leaf.attributes.filter(a => Conditions.isEventTime(a) && stored.contains(a))
    }

  /** Per leaf, until which watermark its rows are needed, or why there is none. */
  val of: IndexedSeq[Either[Boundless, Lifetime]] = block.leaves.indices.map { r =>
    val others = streams.filter(_ != r)
    val each = others.map(s => s -> eventTimes(s).flatMap(latest(_, r)).headOption)
    each.collectFirst { case (s, None) => Boundless(s) }.toLeft {
      val terms = each.flatMap(_._2)
      Lifetime(terms.map(_._1).distinct.map(c => c -> terms.filter(_._1 == c).map(_._2).max).toIndexedSeq)
    }
  }

  /** A column of `r`, and by how much `time` can be later than it at most: its event time, where that is bound to it. */
  private def latest(time: Attribute, r: Int): Option[(Attribute, Long)] =
    (eventTimes(r) ++ block.leaves(r).attributes.filter(columns(r).contains)).iterator
      .flatMap(column => bounds(time, column).map(column -> _)).nextOption()

  /** Its terms are NULL in no result: where `<=>` holds, because one of them never is. */
  private def isNeverNull(c: AttributeClass): Boolean = !c.nullSafe || c.members.exists {
    case Term(leaf, a: Attribute) => block.leaves(leaf).attributes.exists(b => b.exprId == a.exprId && !b.nullable)
    case _ => false
  }

  private def equation(l: Term, r: Term): Expression = EqualTo(l.expression, r.expression)
}

/** @param until the rows are needed until the watermark has reached all of these: a column, and microseconds beyond it */
final private[spark] case class Lifetime(until: IndexedSeq[(Attribute, Long)])

/** Nothing bounds the time of rows still to come of this leaf. */
final private[spark] case class Boundless(leaf: Int)
