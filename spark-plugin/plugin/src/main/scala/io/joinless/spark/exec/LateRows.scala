package io.joinless.spark.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Predicate}

/** Rows of a watermarked scan that come too late, by Spark's own rule: their event time is not after the watermark.
  *
  * They are dropped once, at their own scan; results of the join are never late, as they can be between Spark's chained
  * joins. Only scans that hand on their event-time column have such rows. NULL is never late.
  */
object LateRows {

  /** The rows that are not late; `dropped` is called for each of the others. */
  def without(
      rows: Iterator[InternalRow],
      late: Expression,
      scan: Seq[Attribute],
      dropped: () => Unit
  ): Iterator[InternalRow] = {
    val isLate = Predicate.create(late, scan)
    rows.filterNot { row =>
      val is = isLate.eval(row)
      if (is) dropped()
      is
    }
  }
}
