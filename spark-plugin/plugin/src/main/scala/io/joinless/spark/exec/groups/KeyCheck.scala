package io.joinless.spark.exec.groups

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.rows.RowText
import io.joinless.spark.plans.values.{GroupFunction, OnlyRow}
import io.joinless.spark.spec.{ColumnSpec, GroupShape}
import io.joinless.spark.state.groups.{GroupTotals, RowsOfKey}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.types.{DataType, StructType}

/** The check of a declared key: after a batch, each key that the batch touches has one row, or
  * none. The changes of the batch are netted before: a row that replaces another one is no second
  * row.
  *
  * @param function the only function of the groups
  * @param types those of the grouping columns
  */
final private class KeyCheck(function: OnlyRow, types: IndexedSeq[DataType]) {

  /** Throws if a key has several rows.
    *
    * @param key the grouping columns
    * @param totals as of the end of the batch
    */
  def apply(key: UnsafeRow, totals: GroupTotals): Unit = {
    val rows = totals.accumulators.head.asInstanceOf[RowsOfKey]
    if (rows.count > 0L && rows.only.isEmpty)
      throw JoinlessErrors.keyViolation(function.source, function.key, text(key, rows.first), rows.count)
  }

  /** The values of the key. A column by whose values rows cannot be grouped as they are is in the row
    * itself; the grouping column has bytes instead.
    */
  private def text(key: UnsafeRow, first: UnsafeRow): String = {
    val struct = function.row.dataType.asInstanceOf[StructType]
    val row = first.getStruct(0, struct.size)
    val (columns, values) = function.key.zipWithIndex.map { case (name, i) =>
      struct.fieldNames.indexOf(name) match {
        case -1 => ColumnSpec(name, types(i)) -> key.get(i, types(i))
        case at => ColumnSpec(name, struct(at).dataType) -> row.get(at, struct(at).dataType)
      }
    }.unzip
    RowText(columns.toIndexedSeq, new GenericInternalRow(values.toArray[Any]): InternalRow)
  }
}

private object KeyCheck {

  /** The check of these groups, if they are those of a key. */
  def of(functions: Seq[GroupFunction], shape: GroupShape): Option[KeyCheck] =
    functions.map(_.function).collectFirst { case only: OnlyRow => new KeyCheck(only, shape.columns.map(_.dataType)) }
}
