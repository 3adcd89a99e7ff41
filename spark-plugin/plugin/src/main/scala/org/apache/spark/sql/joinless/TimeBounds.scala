package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Join}
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper

/** Joins whose conditions bound event time, so that Spark can drop state as the watermark advances.
  *
  * Asks `StreamingSymmetricHashJoinHelper`, internal to Spark; checked on 4.2.0.
  */
object TimeBounds {

  /** The condition by which Spark would drop state of this join, if there is one. */
  def of(join: Join): Option[Expression] = {
    val watermarked = join.children.exists(_.output.exists(_.metadata.contains(EventTimeWatermark.delayKey)))
    if (!watermarked) None
    else {
      val (leftKeys, rightKeys, others) = join match {
        case ExtractEquiJoinKeys(_, left, right, rest, _, _, _, _) => (left, right, rest)
        case _ => (Nil, Nil, join.condition)
      }
      val predicates = StreamingSymmetricHashJoinHelper.getStateWatermarkPredicates(
        join.left.output,
        join.right.output,
        leftKeys,
        rightKeys,
        others,
        eventTimeWatermarkForEviction = Some(0L),
        eventTimeWatermarkForLateEvents = None,
        useFirstEventTimeColumn = true
      )
      if (predicates.left.isEmpty && predicates.right.isEmpty) None else others.orElse(join.condition)
    }
  }
}
