package io.joinless.spark.rules.counts

import io.joinless.spark.plans.values.{NumberIncrement, SumIncrement, SumPart}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.{
  AggregateFunction,
  Average,
  Count,
  HyperLogLogPlusPlus,
  Max,
  Min,
  Sum
}
import org.apache.spark.sql.types.{ByteType, DataType, DecimalType, IntegerType, LongType, ShortType}

/** Columns in which arguments are added up.
  *
  * @param columns those of the parts, in order
  */
final private[spark] case class SummedColumns(parts: Seq[SumPart], columns: Seq[Expression])

/** An aggregate function of Spark's over results, computed from rows that stand for several equal
  * ones.
  */
private[spark] object FunctionOfIncrements {

  /** The function over rows with increments. None where the function itself is right, since equal
    * results count once for it.
    *
    * @param argument the expression that the function counts or adds up; None where all results
    *     count
    * @param summed where arguments are added up already
    * @param results how many results a row stands for
    */
  def apply(
      function: AggregateFunction,
      argument: Option[Expression],
      summed: Option[SummedColumns],
      results: Expression
  ): Option[Expression] = {

    /** How many arguments that are not NULL a row stands for. */
    def number: Expression = (argument, summed) match {
      case (None, _) => results
      case (Some(value), None) => If(IsNotNull(value), results, Literal(0L))
      case (_, Some(SummedColumns(Seq(SumPart(Some(_), 1, _)), columns))) => columns.head
      case (_, Some(SummedColumns(parts, columns))) => NumberIncrement(parts, columns :+ results)
    }

    /** The sum of the arguments of all rows. */
    def sum(resultType: DataType, mode: EvalMode.Value): Expression = {
      val argumentType = function.children.head.dataType
      val increment = summed match {
        case Some(SummedColumns(parts, columns)) =>
          SumIncrement(Some(parts), columns :+ results, argumentType, resultType, mode)
        case None => SumIncrement(None, Seq(argument.get, results), argumentType, resultType, mode)
      }
      val ofAllRows = total(increment, mode)
      if (ofAllRows.dataType == resultType) ofAllRows else Cast(ofAllRows, resultType, None, EvalMode.ANSI)
    }
    def count = Coalesce(Seq(total(number, EvalMode.ANSI), Literal(0L)))
    function match {
      case _: Count => Some(count)
      case s: Sum => Some(sum(s.dataType, s.evalContext.evalMode))
      case average: Average =>
        val (sumBuffer, countBuffer) = (average.aggBufferAttributes.head, average.aggBufferAttributes.last)
        Some(average.evaluateExpression.transform {
          case a: Attribute if a.exprId == sumBuffer.exprId => sum(sumBuffer.dataType, average.evalMode)
          case a: Attribute if a.exprId == countBuffer.exprId => count
        })
      case _ => None
    }
  }

  /** Whether a function can be computed this way. */
  def takes(function: AggregateFunction): Boolean = function match {
    case _: Count => true
    case sum: Sum => addsUp(sum.child.dataType, sum.evalContext.evalMode)
    case average: Average => addsUp(average.child.dataType, average.evalMode)
    case _ => countsOnce(function)
  }

  /** Whether duplicates of equal rows do not matter. */
  def countsOnce(function: AggregateFunction): Boolean = function match {
    case _: Min | _: Max | _: HyperLogLogPlusPlus => true
    case _ => false
  }

  /** Sums of doubles depend on their order; a sum that is NULL because it does not fit cannot be
    * added to.
    */
  private def addsUp(dataType: DataType, mode: EvalMode.Value): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType => mode != EvalMode.TRY
    case _: DecimalType => mode == EvalMode.ANSI
    case _ => false
  }

  /** The sum of an increment over rows. */
  private def total(increment: Expression, mode: EvalMode.Value): Expression =
    Sum(increment, NumericEvalContext(mode)).toAggregateExpression()
}
