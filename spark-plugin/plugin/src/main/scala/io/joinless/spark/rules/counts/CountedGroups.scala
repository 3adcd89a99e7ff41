package io.joinless.spark.rules.counts

import io.joinless.spark.plans.values.InPlaceOf
import io.joinless.spark.rules.blocks.{Conditions, Names}
import org.apache.spark.sql.catalyst.expressions.aggregate.{AggregateExpression, Complete}
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  AttributeSet,
  Expression,
  NamedExpression,
  SessionWindow
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}

/** A GROUP BY of Spark's own over a join block whose results are counted: it adds up increments
  * instead of results.
  *
  * The block returns each combination of columns that the GROUP BY reads, with the increase in the
  * number of its results and in the sums of functions' arguments (algorithms A52). Where rows are
  * only inserted, these increments are never negative, so Spark's functions can read them
  * unchanged:
  * {{{
  * COUNT(*)     SUM of the numbers of results
  * COUNT(x)     SUM of the numbers of x
  * SUM(x)       SUM of the sums of x
  * AVG(x)       SUM of the sums / SUM of the numbers of x that are not NULL
  * MIN, MAX, approx_count_distinct    themselves: equal rows count once
  * }}}
  * Names, types, NULLs, event times and the groups that a batch touches are those of the original
  * GROUP BY.
  */
final case class CountedGroups private (aggregate: Aggregate, functions: Seq[AggregateExpression]) {

  /** The demand on the results. */
  val demand: Demand = FunctionArguments.demand(once = false, aggregate.groupingExpressions.toIndexedSeq, functions)

  /** The demand where duplicates of equal results do not matter; None where they do. */
  def onceDemand: Option[Demand] =
    Option.when(functions.forall(f => FunctionOfIncrements.countsOnce(f.aggregateFunction)))(demand.copy(once = true))

  /** The GROUP BY over increments.
    *
    * @param projected attributes of its child that `rows` projects, each with its position there
    */
  def over(rows: WeightedRows, projected: Seq[(Attribute, Int)]): Aggregate = {
    val columns = rows.plan.output
    // a key that is computed where rows are stored is a column here
    val keys = aggregate.groupingExpressions.zipWithIndex.flatMap { case (key, i) =>
      rows.keys.lift(i).flatten.map(at => (key, CountedGroups.column(key), columns(at)))
    }
    val increment = ofIncrements(rows)(_)

    /** An expression over results as one over increments. */
    def own(e: Expression): Expression = e match {
      case f: AggregateExpression => increment(f)
      case part => keys.find(_._1.semanticEquals(part)).fold(part.mapChildren(own))(_._2)
    }
    val grouping = aggregate.groupingExpressions.map(own)
    val results = aggregate.aggregateExpressions.map(own(_).asInstanceOf[NamedExpression])
    val read = AttributeSet((grouping ++ results).flatMap(_.references))
    val named = keys.map { case (_, column, value) => column -> value }.distinctBy(_._1.exprId)
    val others = projected.collect { case (a, at) if !named.exists(_._1.exprId == a.exprId) => a -> columns(at) }
    val inPlace = (named ++ others).collect { case (a, value) if read.contains(a) => InPlaceOf(a, value) }
    val child = Project(inPlace ++ columns.filter(read.contains), rows.plan)
    aggregate.copy(groupingExpressions = grouping, aggregateExpressions = results, child = child)
  }

  /** Functions over increments. */
  private def ofIncrements(rows: WeightedRows)(f: AggregateExpression): Expression = {
    val columns = rows.plan.output
    val argument = FunctionArguments.argument(f)
    val parts = argument.flatMap(rows.sumOf(demand.arguments, _)).map { parts =>
      SummedColumns(
        parts.map(_.part),
        parts.flatMap(p => columns.slice(p.first, p.first + p.part.columns))
      )
    }
    FunctionOfIncrements(f.aggregateFunction, argument, parts, columns.last).getOrElse(f)
  }
}

object CountedGroups {

  /** None where a function must read each result. */
  def apply(aggregate: Aggregate): Option[CountedGroups] = {
    val functions = aggregate.aggregateExpressions.flatMap(_.collect { case f: AggregateExpression => f })
    val expressions = aggregate.groupingExpressions ++ aggregate.aggregateExpressions
    val fits = functions.forall(takes) && expressions.forall(e => e.deterministic && !Conditions.isLate(e)) &&
      !aggregate.groupingExpressions.exists(isSession)
    Option.when(fits)(new CountedGroups(aggregate, functions))
  }

  /** Whether a function can be computed from increments. */
  private def takes(f: AggregateExpression): Boolean =
    f.mode == Complete && !f.isDistinct && FunctionOfIncrements.takes(f.aggregateFunction)

  /** Sessions are not groups of equal rows. */
  private def isSession(key: Expression): Boolean = key.references.exists(_.metadata.contains(SessionWindow.marker))

  /** A grouping expression as a column of the child. */
  private def column(key: Expression): Attribute = key match {
    case a: Attribute => a.withNullability(true)
    case value => AttributeReference(Names.of(value), value.dataType)()
  }
}
