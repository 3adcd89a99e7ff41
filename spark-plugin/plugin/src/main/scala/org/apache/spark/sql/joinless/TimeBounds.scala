package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.logical.{EventTimeWatermark, Join}
import org.apache.spark.sql.execution.streaming.operators.stateful.join.StreamingSymmetricHashJoinHelper

/** Joins whose conditions bound event time, so that Spark can drop state as the watermark advances. They stay with Spark: ours
  * would keep all rows.
  *
  * Asks `StreamingSymmetricHashJoinHelper`, internal to Spark; checked on 4.2.0.
  */
object TimeBounds {

  /** A condition to name in a message where Spark could drop state of this join: what it has beside its keys, or all of it. */
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
        eventTimeWatermarkForEviction = Some(0L), // any: asked is only whether there is a predicate
        eventTimeWatermarkForLateEvents = None,
        useFirstEventTimeColumn = true // of several; which one plays no part, either
      )
      if (predicates.left.isEmpty && predicates.right.isEmpty) None else others.orElse(join.condition)
    }
  }
}
