package io.joinless.spark.exec

import java.math.{BigDecimal, BigInteger}

import io.joinless.spark.plans.{AnyOf, GroupFunction, RowsOfGroup}
import io.joinless.spark.state.{Accumulator, BestOf, DoubleSumOf, ExtremeOf, GroupTotals, IntegerSumOf}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, Count, DeclarativeAggregate, Max, Min, Sum}
import org.apache.spark.sql.catalyst.expressions.{BindReferences, EvalMode, Expression, GenericInternalRow}
import org.apache.spark.sql.joinless.ExecutionErrors
import org.apache.spark.sql.types._

/** The values of aggregate functions of a group, from what is kept of it.
  *
  * Spark's function computes the value from its own buffer, which is made here from the totals: so types, NULLs and divisions are
  * Spark's. Sums are those of all rows of the group, rounded once; a sum that does not fit its type fails, is NULL or wraps around as
  * Spark's does, but for the whole sum only, not for a part of it on the way.
  */
final private[spark] class GroupValues(functions: Seq[GroupFunction]) {

  private[this] val evaluations: Array[GroupTotals => Any] = {
    val arguments = functions.indices.filter(functions(_).argument.isDefined)
    functions.indices.map(i => GroupValues.evaluation(functions(i), arguments.indexOf(i))).toArray
  }

  def write(totals: GroupTotals, into: GenericInternalRow): Unit = {
    var i = 0
    while (i < evaluations.length) {
      into.update(i, evaluations(i)(totals))
      i += 1
    }
  }
}

private object GroupValues {

  /** @param at the function's accumulator */
  private def evaluation(f: GroupFunction, at: Int): GroupTotals => Any = f.function match {
    case _: Count if at < 0 => _.rows
    case _: Count => _.accumulators(at).count
    case _: AnyOf => _.accumulators(at).count > 0
    case rows: RowsOfGroup => totals => rows.value(totals.accumulators(at).asInstanceOf[BestOf].first)
    case _: Min | _: Max =>
      totals =>
        Option(totals.accumulators(at).asInstanceOf[ExtremeOf].extreme).map(_.get(0, f.function.dataType)).orNull
    case sum: Sum =>
      val buffer = sum.aggBufferAttributes.head.dataType
      val evaluate = bound(sum)
      totals => {
        val accumulator = totals.accumulators(at)
        val value =
          if (accumulator.count == 0) null else sumOf(accumulator, sum.child.dataType, buffer, sum.evalContext.evalMode)
        evaluate.eval(InternalRow(value, accumulator.count == 0))
      }
    case average: Average =>
      val evaluate = bound(average)
      totals => {
        val accumulator = totals.accumulators(at)
        val sum = sumOf(accumulator, average.child.dataType, average.sumDataType, average.evalMode)
        evaluate.eval(InternalRow(sum, accumulator.count))
      }
    case other => throw new IllegalStateException(s"no values of ${other.prettyName}")
  }

  private def bound(f: DeclarativeAggregate): Expression =
    BindReferences.bindReference(f.evaluateExpression, f.aggBufferAttributes)

  private def sumOf(accumulator: Accumulator, argument: DataType, buffer: DataType, mode: EvalMode.Value): Any =
    (accumulator, buffer) match {
      case (sum: DoubleSumOf, _) => sum.sum
      case (integers: IntegerSumOf, DoubleType) => integers.sum.toDouble
      case (integers: IntegerSumOf, d: DecimalType) =>
        val digits = new BigDecimal(integers.sum.toBigInteger, scaleOf(argument))
        if (digits.precision > d.precision) null else Decimal(digits, d.precision, d.scale)
      case (integers: IntegerSumOf, _: YearMonthIntervalType) =>
        val sum = integers.sum.toBigInteger
        if (sum.bitLength < 32) sum.intValue else throw ExecutionErrors.sumOfIntervals()
      case (integers: IntegerSumOf, _: DayTimeIntervalType) =>
        val sum = integers.sum.toBigInteger
        if (sum.bitLength < 64) sum.longValue else throw ExecutionErrors.sumOfIntervals()
      case (integers: IntegerSumOf, LongType) => long(integers.sum.toBigInteger, mode)
      case _ => throw new IllegalStateException(s"no sum of ${argument.sql} as ${buffer.sql}")
    }

  private def long(sum: BigInteger, mode: EvalMode.Value): Any =
    if (sum.bitLength < 64 || mode == EvalMode.LEGACY) sum.longValue
    else if (mode == EvalMode.TRY) null
    else throw ExecutionErrors.sumOfLongs()

  private def scaleOf(argument: DataType): Int = argument match {
    case d: DecimalType => d.scale
    case _ => 0
  }
}
