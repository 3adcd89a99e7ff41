package io.joinless.spark.exec.groups

import io.joinless.spark.plans.values.{AnyOf, AsOfRows, GroupFunction, OnlyRow, RowsOfGroup, SumValue}
import io.joinless.spark.state.groups.{
  Accumulator,
  BestOf,
  DoubleSumOf,
  ExtremeOf,
  GroupTotals,
  HeldRows,
  IntegerSumOf,
  RowsOfKey
}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.aggregate.{Average, Count, DeclarativeAggregate, Max, Min, Sum}
import org.apache.spark.sql.catalyst.expressions.{BindReferences, EvalMode, Expression, GenericInternalRow}
import org.apache.spark.sql.types._

/** Computes the values of a group's aggregate functions from the state that is kept of the group.
  *
  * Spark's function computes the value from its own buffer, which is made here from the totals: so
  * types, NULLs and divisions are Spark's. Sums are those of all rows of the group, rounded once. A
  * sum that does not fit its type fails, is NULL or wraps around as Spark's does, but this applies
  * to the whole sum only, not to partial sums. An average that is a double is rounded once, too:
  * the exact sum is divided here.
  */
final private[spark] class GroupValues(functions: Seq[GroupFunction]) {

  private[this] val evaluations: Array[GroupTotals => Any] = {
    val arguments = functions.indices.filter(functions(_).argument.isDefined)
    functions.indices.map(i => GroupValues.evaluation(functions(i), arguments.indexOf(i))).toArray
  }

  /** Writes the value of each function, from column 0 on. */
  def write(totals: GroupTotals, into: GenericInternalRow): Unit = {
    var i = 0
    while (i < evaluations.length) {
      into.update(i, evaluations(i)(totals))
      i += 1
    }
  }
}

private[exec] object GroupValues {

  /** How the value of a function is computed from the totals of a group.
    *
    * @param number that of the function's accumulator; −1 where it has none, as it counts all rows
    */
  private def evaluation(f: GroupFunction, number: Int): GroupTotals => Any = f.function match {
    case _: Count if number < 0 => _.rows
    case _: Count => _.accumulators(number).count
    case _: AnyOf => _.accumulators(number).count > 0
    case rows: AsOfRows =>
      val ordering = rows.order.ordering
      totals => rows.value(totals.accumulators(number).asInstanceOf[HeldRows].rows.toSeq.sorted(ordering))
    case row: OnlyRow =>
      totals => row.value(totals.accumulators(number).asInstanceOf[RowsOfKey].only.toSeq)
    case rows: RowsOfGroup => totals => rows.value(totals.accumulators(number).asInstanceOf[BestOf].first)
    case _: Min | _: Max =>
      totals =>
        Option(totals.accumulators(number).asInstanceOf[ExtremeOf].extreme).map(_.get(0, f.function.dataType)).orNull
    case sum: Sum =>
      val buffer = sum.aggBufferAttributes.head.dataType
      val evaluate = bound(sum)
      totals => {
        val accumulator = totals.accumulators(number)
        val value =
          if (accumulator.count == 0) null else sumOf(accumulator, sum.child.dataType, buffer, sum.evalContext.evalMode)
        evaluate.eval(InternalRow(value, accumulator.count == 0))
      }
    case average: Average if average.dataType == DoubleType =>
      totals => {
        val accumulator = totals.accumulators(number)
        if (accumulator.count == 0) null else mean(accumulator)
      }
    case average: Average =>
      val evaluate = bound(average)
      totals => {
        val accumulator = totals.accumulators(number)
        val sum = sumOf(accumulator, average.child.dataType, average.sumDataType, average.evalMode)
        evaluate.eval(InternalRow(sum, accumulator.count))
      }
    case other => throw new IllegalStateException(s"no values of ${other.prettyName}")
  }

  /** The expression that computes a function's value from its buffer, whose columns it reads by
    * position.
    */
  private def bound(f: DeclarativeAggregate): Expression =
    BindReferences.bindReference(f.evaluateExpression, f.aggBufferAttributes)

  /** The mean of exact values. Spark would round the sum, and then the quotient. */
  private def mean(accumulator: Accumulator): Double = accumulator match {
    case doubles: DoubleSumOf => doubles.mean
    case integers: IntegerSumOf => integers.sum.dividedBy(integers.count)
    case other => throw new IllegalStateException(s"no sum in ${other.getClass.getSimpleName}")
  }

  /** An exact sum as the value that Spark's buffer would have.
    *
    * @param argument the type of the summed values
    * @param buffer the type of the buffer
    * @param mode what happens if the sum does not fit that type
    */
  private def sumOf(accumulator: Accumulator, argument: DataType, buffer: DataType, mode: EvalMode.Value): Any =
    accumulator match {
      case doubles: DoubleSumOf => doubles.sum
      case integers: IntegerSumOf => SumValue.of(integers.sum, argument, buffer, mode)
      case other => throw new IllegalStateException(s"no sum in ${other.getClass.getSimpleName}")
    }
}
