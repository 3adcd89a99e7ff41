package io.joinless.spark.plans.values

import io.joinless.engine.algebra.ExactSum
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.expressions.{EvalMode, Expression, GenericInternalRow}
import org.apache.spark.sql.joinless.ExecutionErrors
import org.apache.spark.sql.types.{DataType, LongType}

/** The increment that new results add to one of Spark's aggregate functions, in one row for all. */
sealed abstract class Increment extends Expression with CodegenFallback {

  /** The columns of `parts`, then the number of results that the row stands for. */
  def columns: Seq[Expression]

  override def children: Seq[Expression] = columns

  @transient private lazy val row = new GenericInternalRow(columns.size)

  final override def eval(input: InternalRow): Any = {
    var i = 0
    for (column <- columns) {
      row.update(i, column.eval(input))
      i += 1
    }
    of(row, row.getLong(i - 1))
  }

  /** The increment by a row's columns, which stand for so many results. */
  protected def of(row: InternalRow, results: Long): Any
}

/** The number of new arguments that are not NULL. */
final case class NumberIncrement(parts: Seq[SumPart], columns: Seq[Expression]) extends Increment {

  override def dataType: DataType = LongType

  override def nullable: Boolean = false

  override protected def of(row: InternalRow, results: Long): Any = SumPart.number(parts, row, 0, results)

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): NumberIncrement =
    copy(columns = newChildren)
}

/** The sum of the new arguments; NULL where all are NULL.
  *
  * @param parts None: the first column is the argument of all these results
  * @param argument the type of an argument
  * @param mode what happens to a sum that does not fit its type; one that would be NULL fails,
  *   because a NULL adds nothing
  */
final case class SumIncrement(
    parts: Option[Seq[SumPart]],
    columns: Seq[Expression],
    argument: DataType,
    dataType: DataType,
    mode: EvalMode.Value
) extends Increment {

  override def nullable: Boolean = true

  override protected def of(row: InternalRow, results: Long): Any = parts match {
    case Some(parts) =>
      if (SumPart.number(parts, row, 0, results) == 0L) null else sum(SumPart.add(_, parts, row, 0))
    case None => if (row.isNullAt(0)) null else sum(SumValue.add(_, row, 0, argument, results))
  }

  /** The value of the sum that `add` makes. */
  private def sum(add: ExactSum => Unit): Any = {
    val all = new ExactSum
    add(all)
    val value = SumValue.of(all, argument, dataType, mode)
    if (value == null) throw ExecutionErrors.sumOfDecimals() else value
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): SumIncrement =
    copy(columns = newChildren)
}
