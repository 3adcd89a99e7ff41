package io.joinless.spark.rules.counts

import io.joinless.spark.plans.values.{AnyOf, AsOfRows, BestRows, OnlyRow}
import io.joinless.spark.spec.FactorLift
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.joinless.KeyBytes

/** The expressions that aggregate functions read from the rows that they add up. A FILTER is a
  * condition on the argument.
  */
private[spark] object FunctionArguments {

  /** The value whose non-NULL occurrences are counted, summed or compared; None where all rows
    * count.
    * {{{
    * COUNT(*), or of columns without NULLs   None; with a FILTER the value is TRUE
    * COUNT(a, b)                             TRUE, or NULL where one of them is NULL
    * SUM(a), MIN(a)                          a
    * COUNT(DISTINCT a), SUM(DISTINCT a)      a, as keys are stored (`KeyBytes.stored`)
    * COUNT(DISTINCT a, b)                    (a, b), or NULL where one of them is NULL
    * any other function (`isRecomputed`)     a struct of what it reads (`recomputed`), never NULL
    * FILTER (WHERE c)                        the value above, or NULL where c is not true
    * }}}
    */
  def argument(f: AggregateExpression): Option[Expression] = {

    /** The value where the FILTER is true, else NULL. */
    def where(value: Expression) = f.filter.fold(value)(If(_, value, Literal(null, value.dataType)))

    /** The value where none of these is NULL, else NULL. */
    def unlessNull(children: Seq[Expression], value: Expression) =
      children.filter(_.nullable).map(IsNotNull(_): Expression).reduceOption(And(_, _)).fold(value)(
        If(_, value, Literal(null, value.dataType))
      )
    val children = f.aggregateFunction.children
    f.aggregateFunction match {
      case _: Count if !f.isDistinct =>
        if (children.forall(!_.nullable) && f.filter.isEmpty) None
        else Some(where(unlessNull(children, Literal.TrueLiteral)))
      case other if isRecomputed(other) =>
        val read = recomputed(other).map(c => if (f.isDistinct) KeyBytes.stored(c) else c)
        Some(where(CreateStruct(if (read.isEmpty) Seq(Literal.TrueLiteral) else read)))
      case _ if f.isDistinct =>
        val stored = children.map(KeyBytes.stored)
        Some(where(if (stored.size == 1) stored.head else unlessNull(children, CreateStruct(stored))))
      case _ => Some(where(children.head))
    }
  }

  /** Whether the function is recomputed from all of its arguments, as no smaller state suffices. */
  def isRecomputed(f: AggregateFunction): Boolean = f match {
    case _: Count | _: AnyOf | _: Sum | _: Average | _: Min | _: Max | _: BestRows | _: AsOfRows | _: OnlyRow => false
    case _ => true
  }

  /** The expressions that such a function reads; its constants must stay constants. */
  def recomputed(f: AggregateFunction): Seq[Expression] = f.children.map {
    case SortOrder(value, _, _, _) => value
    case value => value
  }.filterNot(_.foldable)

  /** Whether it is enough to know the increase in the number of arguments that are not NULL, and in
    * their sum.
    */
  def takesSums(f: AggregateExpression): Boolean = !f.isDistinct && (f.aggregateFunction match {
    case _: Count => argument(f).isDefined
    case sum: Sum => FactorLift.takes(sum.child.dataType)
    case average: Average => FactorLift.takes(average.child.dataType)
    case _ => false
  })

  /** The demand of functions on the rows of groups.
    *
    * @param once duplicates of equal rows do not matter
    * @param keys by which the rows are grouped
    */
  def demand(once: Boolean, keys: IndexedSeq[Expression], functions: Seq[AggregateExpression]): Demand = {
    val (added, others) = functions.partition(f => !once && takesSums(f))
    val arguments = added.flatMap(argument).foldLeft(IndexedSeq.empty[Expression]) { (known, a) =>
      if (known.exists(_.semanticEquals(a))) known else known :+ a
    }
    Demand(once, keys, arguments, AttributeSet(others.flatMap(argument).flatMap(_.references)))
  }
}
