package io.joinless.spark.exec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Predicate}
import org.apache.spark.sql.execution.SparkPlan

/** Rows of a watermarked scan that come too late, by Spark's own rule: their event time is not after the watermark.
  *
  * They are dropped once, at their own scan; results of the join are never late, as they can be between Spark's chained
  * joins. Only scans that hand on their event-time column have such rows. NULL is never late.
  */
object LateRows {

  /** The metric of plans that drop them. */
  final val RowsDropped = "rowsDropped"

  /** A plan that drops them, and by which times: a text of columns. */
  trait Dropped extends SparkPlan {
    def lateBy: String
  }

  /** How the late rows of a time are called among an operator's figures. */
  def lateOf(times: String): String = s"late.$times"

  /** How many of these plans' rows were late by which times, where any was. */
  def byTimes(plans: Seq[SparkPlan]): Map[String, Long] =
    plans.collect {
      case plan: Dropped if plan.metrics(RowsDropped).value > 0 => plan.lateBy -> plan.metrics(RowsDropped).value
    }.groupMapReduce(_._1)(_._2)(_ + _)

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
