package io.joinless.spark.exec

import io.joinless.spark.changes.ChangeTypes
import io.joinless.spark.plans.DeltaForm
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateUnsafeRowJoiner
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.{DataType, StructField, StructType}

/** Puts a change column behind each row: one row with its weight, or a row per copy with its change type.
  *
  * The row handed out is the same object each time. A row of weight 0 is no change.
  */
final private class TellChanges(form: DeltaForm, types: Seq[DataType]) {

  private[this] val joiner = GenerateUnsafeRowJoiner.create(
    StructType(types.zipWithIndex.map { case (t, i) => StructField(s"c$i", t) }),
    StructType(Seq(StructField(form.column, form.dataType)))
  )

  def apply(changes: Iterator[(UnsafeRow, Long)]): Iterator[InternalRow] = form match {
    case DeltaForm.Weight =>
      val weight = UnsafeRow.createFromByteArray(16, 1)
      changes.filter(_._2 != 0L).map { case (row, w) =>
        weight.setLong(0, w)
        joiner.join(row, weight)
      }
    case DeltaForm.ChangeType | DeltaForm.OnClose =>
      val (insert, delete) = (told(ChangeTypes.Insert), told(ChangeTypes.Delete))
      changes.flatMap { case (row, w) => new Copies(joiner.join(row, if (w > 0) insert else delete), w) }
  }

  private def told(changeType: Any): UnsafeRow =
    UnsafeProjection.create(Array[DataType](form.dataType)).apply(InternalRow(changeType)).copy()

  final private class Copies(row: UnsafeRow, weight: Long) extends Iterator[InternalRow] {
    // counts towards 0 from either side: the smallest weight has no positive counterpart
    private[this] var left = weight
    override def hasNext: Boolean = left != 0L
    override def next(): InternalRow = {
      left -= java.lang.Long.signum(left)
      row
    }
  }
}
