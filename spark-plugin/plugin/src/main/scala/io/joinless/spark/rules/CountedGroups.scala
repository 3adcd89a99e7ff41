package io.joinless.spark.rules

import io.joinless.spark.plans.{InPlaceOf, NumberIncrement, SumIncrement}
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  AttributeSet,
  Cast,
  Coalesce,
  EvalMode,
  Expression,
  If,
  IsNotNull,
  Literal,
  NamedExpression,
  NumericEvalContext,
  SessionWindow
}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Project}
import org.apache.spark.sql.types.{ByteType, DataType, DecimalType, IntegerType, LongType, ShortType}

/** A GROUP BY of Spark's own over a join block whose results are counted: it adds up increments instead of results.
  *
  * The block yields each combination of columns that the GROUP BY reads with how many results more there are of it, and what arguments
  * of functions more add up to (algorithms A7). Where rows only come, these increments are never negative, so Spark's functions take
  * them as they are:
  * {{{
  * COUNT(*)     SUM of the numbers of results       AVG(x)    SUM of the sums / SUM of the numbers of x that are not NULL
  * COUNT(x)     SUM of the numbers of x             MIN, MAX, approx_count_distinct    themselves: equal rows count once
  * SUM(x)       SUM of the sums of x
  * }}}
  * Names, types, NULLs, event times and the groups that a batch touches are those of the GROUP BY as it was written.
  */
final case class CountedGroups private (aggregate: Aggregate, functions: Seq[AggregateExpression]) {

  /** What it needs of the results. */
  val demand: Demand = FunctionArguments.demand(once = false, aggregate.groupingExpressions.toIndexedSeq, functions)

  /** What it needs where equal results are as good as one; None where they are not. */
  def onceDemand: Option[Demand] = Option.when(functions.forall(CountedGroups.countsOnce))(demand.copy(once = true))

  /** The GROUP BY over increments.
    *
    * @param shown attributes of its child that `rows` has, each with its position there
    */
  def over(rows: WeightedRows, shown: Seq[(Attribute, Int)]): Aggregate = {
    val columns = rows.plan.output
    // what is computed where rows are stored is a column here
    val keys = aggregate.groupingExpressions.zipWithIndex.flatMap { case (key, i) =>
      rows.keys.lift(i).flatten.map(at => (key, CountedGroups.column(key), columns(at)))
    }
    val increments = new Increments(rows)
    def own(e: Expression): Expression = e match {
      case f: AggregateExpression => increments.of(f)
      case part => keys.find(_._1.semanticEquals(part)).fold(part.mapChildren(own))(_._2)
    }
    val grouping = aggregate.groupingExpressions.map(own)
    val results = aggregate.aggregateExpressions.map(own(_).asInstanceOf[NamedExpression])
    val read = AttributeSet((grouping ++ results).flatMap(_.references))
    val named = keys.map { case (_, column, value) => column -> value }.distinctBy(_._1.exprId)
    val others = shown.collect { case (a, at) if !named.exists(_._1.exprId == a.exprId) => a -> columns(at) }
    val inPlace = (named ++ others).collect { case (a, value) if read.contains(a) => InPlaceOf(a, value) }
    val child = Project(inPlace ++ columns.filter(read.contains), rows.plan)
    aggregate.copy(groupingExpressions = grouping, aggregateExpressions = results, child = child)
  }

  /** Functions over increments. */
  final private class Increments(rows: WeightedRows) {
    private val results = rows.plan.output.last

    def of(f: AggregateExpression): Expression = f.aggregateFunction match {
      case _: Count => Coalesce(Seq(total(number(f), EvalMode.ANSI), Literal(0L)))
      case s: Sum => fitted(total(sum(f, s.dataType, s.evalContext.evalMode), s.evalContext.evalMode), s.dataType)
      case average: Average =>
        val mode = average.evalMode
        val (sumOf, countOf) = (average.aggBufferAttributes.head, average.aggBufferAttributes.last)
        average.evaluateExpression.transform {
          case a: Attribute if a.exprId == sumOf.exprId =>
            fitted(total(sum(f, sumOf.dataType, mode), mode), sumOf.dataType)
          case a: Attribute if a.exprId == countOf.exprId =>
            Coalesce(Seq(total(number(f), EvalMode.ANSI), Literal(0L)))
        }
      case _ => f
    }

    private def total(increment: Expression, mode: EvalMode.Value): Expression =
      Sum(increment, NumericEvalContext(mode)).toAggregateExpression()

    private def fitted(sum: Expression, dataType: DataType): Expression =
      if (sum.dataType == dataType) sum else Cast(sum, dataType, None, EvalMode.ANSI)

    private def number(f: AggregateExpression): Expression = (FunctionArguments.argument(f), parts(f)) match {
      case (None, _) => results
      case (Some(argument), None) => If(IsNotNull(argument), results, Literal(0L))
      case (_, Some(Seq(SumColumns(at, part)))) if part.numbers == 1 && part.words.isDefined => rows.plan.output(at)
      case (_, Some(parts)) => NumberIncrement(parts.map(_.part), columns(parts))
    }

    private def sum(f: AggregateExpression, as: DataType, mode: EvalMode.Value): Expression = {
      val argument = FunctionArguments.argument(f).get
      parts(f) match {
        case Some(parts) => SumIncrement(Some(parts.map(_.part)), columns(parts), argument.dataType, as, mode)
        case None => SumIncrement(None, Seq(argument, results), argument.dataType, as, mode)
      }
    }

    private def parts(f: AggregateExpression): Option[Seq[SumColumns]] =
      FunctionArguments.argument(f).flatMap(rows.sumOf(demand.arguments, _))

    private def columns(parts: Seq[SumColumns]): Seq[Attribute] =
      parts.flatMap(p => rows.plan.output.slice(p.first, p.first + p.part.columns)) :+ results
  }
}

object CountedGroups {

  /** None where a function has to see each result. */
  def apply(aggregate: Aggregate): Option[CountedGroups] = {
    val functions = aggregate.aggregateExpressions.flatMap(_.collect { case f: AggregateExpression => f })
    val expressions = aggregate.groupingExpressions ++ aggregate.aggregateExpressions
    val fits = functions.forall(takes) && expressions.forall(e => e.deterministic && !Conditions.isLate(e)) &&
      !aggregate.groupingExpressions.exists(isSession)
    Option.when(fits)(new CountedGroups(aggregate, functions))
  }

  private def takes(f: AggregateExpression): Boolean =
    f.mode == Complete && !f.isDistinct && (f.aggregateFunction match {
      case _: Count => true
      case sum: Sum => addsUp(sum.dataType, sum.evalContext.evalMode)
      case average: Average => addsUp(average.child.dataType, average.evalMode)
      case _ => countsOnce(f)
    })

  /** Equal rows are as good as one. */
  private def countsOnce(f: AggregateExpression): Boolean = f.aggregateFunction match {
    case _: Min | _: Max | _: HyperLogLogPlusPlus => true
    case _ => false
  }

  /** Sums of doubles depend on their order; one that is NULL because it does not fit cannot be added to. */
  private def addsUp(dataType: DataType, mode: EvalMode.Value): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType => mode != EvalMode.TRY
    case _: DecimalType => mode == EvalMode.ANSI
    case _ => false
  }

  /** Sessions are no groups of equal rows. */
  private def isSession(key: Expression): Boolean = key.references.exists(_.metadata.contains(SessionWindow.marker))

  private def column(key: Expression): Attribute = key match {
    case a: Attribute => a.withNullability(true)
    case value => AttributeReference(Names.of(value), value.dataType)()
  }
}
