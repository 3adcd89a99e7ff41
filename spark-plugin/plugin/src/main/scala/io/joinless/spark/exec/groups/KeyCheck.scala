package io.joinless.spark.exec.groups

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.exec.rows.RowText
import io.joinless.spark.plans.values.{GroupFunction, OnlyRow}
import io.joinless.spark.spec.{ColumnSpec, GroupShape}
import io.joinless.spark.state.groups.{GroupTotals, RowsOfKey}
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** The check of a declared key: after a batch, each key that the batch touches has one row, or
  * none. The changes of the batch are netted before: a row that replaces another one is no second
  * row.
  *
  * @param function the only function of the groups
  * @param columns the grouping columns, under the names of the key's
  */
final private class KeyCheck(function: OnlyRow, columns: IndexedSeq[ColumnSpec]) {

  /** Throws if a key has several rows.
    *
    * @param key the grouping columns
    * @param totals as of the end of the batch
    */
  def apply(key: UnsafeRow, totals: GroupTotals): Unit = {
    val rows = totals.accumulators.head.asInstanceOf[RowsOfKey]
    if (rows.count > 0L && rows.only.isEmpty)
      throw JoinlessErrors.keyViolation(function.source, function.key, RowText(columns, key), rows.count)
  }
}

private object KeyCheck {

  /** The check of these groups, if they are those of a key. */
  def of(functions: Seq[GroupFunction], shape: GroupShape): Option[KeyCheck] =
    functions.map(_.function).collectFirst { case only: OnlyRow =>
      new KeyCheck(only, shape.columns.zip(only.key).map { case (column, name) => ColumnSpec(name, column.dataType) })
    }
}
