package io.joinless.spark.exec.operator

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Predicate}
import org.apache.spark.sql.execution.SparkPlan

/** Rows of a watermarked scan that are late, by Spark's own rule: their event time is not after the
  * watermark.
  *
  * They are dropped once, at their own scan; results of the join are never late, as they can be
  * between Spark's chained joins. Only scans that output their event-time column have such rows.
  * NULL is never late.
  */
object LateRows {

  /** The metric of plans that drop late rows. */
  final val RowsDropped = "rowsDropped"

  /** A plan that drops late rows, and the times by which it does: a text of columns. */
  trait Dropped extends SparkPlan {
    def lateBy: String
  }

  /** The name of an operator's figure for rows that are late by a time. */
  def lateOf(times: String): String = s"late.$times"

  /** The number of these plans' late rows, by times; only times with late rows. */
  def byTimes(plans: Seq[SparkPlan]): Map[String, Long] =
    plans.collect {
      case plan: Dropped if plan.metrics(RowsDropped).value > 0 => plan.lateBy -> plan.metrics(RowsDropped).value
    }.groupMapReduce(_._1)(_._2)(_ + _)

  /** Returns the rows that are not late; `dropped` is called for each of the others. */
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
