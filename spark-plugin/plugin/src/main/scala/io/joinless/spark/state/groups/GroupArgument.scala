package io.joinless.spark.state.groups

import io.joinless.spark.plans.values.{GroupFunction, RowsOfGroup, SumPart}
import io.joinless.spark.spec.{FunctionKind, GroupShape}
import org.apache.spark.sql.types.{DataType, DoubleType, FloatType}

/** An argument of aggregate functions: its position in a row of the groups' input, its type, and
  * the state that is kept of it. Its readers are those of one task.
  *
  * @param values the group holds each different value with its number, so that values can be
  *   deleted, and count once
  * @param rows the function, if it is one of values in an order
  * @param sum rows hold sums of arguments, from `ordinal` on (`SumPart`)
  */
final case class GroupArgument(
    ordinal: Int,
    dataType: DataType,
    kind: FunctionKind,
    values: Boolean,
    rows: Option[RowsOfGroup] = None,
    sum: Option[Seq[SumPart]] = None
) {

  @transient private lazy val inRow = new ValueReader(ordinal, dataType)

  /** A value that a group holds is a row of one column. */
  @transient private lazy val inValue = new ValueReader(0, dataType)

  @transient private lazy val ordering = rows.get.order.ordering

  /** An accumulator for the changes of a batch. */
  def changes(): Accumulator = if (values) new ValueChanges(inRow) else of(inRow)

  /** The accumulator that is kept. If the group holds values, it is over these, each once. */
  def kept(): Accumulator = of(if (values) inValue else inRow)

  /** An accumulator over the values that `reader` reads. */
  private def of(reader: ValueReader): Accumulator = kind match {
    case FunctionKind.Counted => sum.fold(new CountOf(reader.ordinal))(new CountsOf(reader.ordinal, _))
    case FunctionKind.Summed => dataType match {
        case FloatType | DoubleType => new DoubleSumOf(reader.ordinal, dataType)
        case _ => sum.fold(new IntegerSumOf(reader.ordinal, dataType))(new SumsOf(reader.ordinal, dataType, _))
      }
    case FunctionKind.Least => new ExtremeOf(reader, -1)
    case FunctionKind.Greatest => new ExtremeOf(reader, 1)
    case FunctionKind.AsOf => new HeldRows(reader)
    case FunctionKind.Only => new RowsOfKey(reader)
    case FunctionKind.Best | FunctionKind.Recomputed => new BestOf(reader, ordering, rows.flatMap(_.limit), values)
  }
}

object GroupArgument {

  /** The arguments of these functions, as the groups of `shape` keep them. */
  def of(functions: Seq[GroupFunction], shape: GroupShape): Seq[GroupArgument] =
    functions.zip(shape.functions).flatMap { case (f, spec) =>
      val rows = f.function match { case rows: RowsOfGroup => Some(rows); case _ => None }
      f.argument.map(GroupArgument(_, spec.argument, spec.kind, spec.values, rows, f.sum))
    }
}
