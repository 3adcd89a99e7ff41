package io.joinless.spark.compile

import io.joinless.spark.plans.nodes.{Groups, JoinFreeJoin}
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.spec.{GroupFormat, StateFormat}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Operators whose record would be too large for a checkpoint. */
private[compile] object TooLarge {

  /** Why an operator of a compiled plan cannot be recorded. */
  def in(plan: LogicalPlan): Option[Reason] = plan.collect {
    case join: JoinFreeJoin =>
      StateFormat.tooLarge(join.shape).map(Reason.joinTooLarge(join.shape.relations.map(_.name), _))
    case groups: Groups => GroupFormat.tooLarge(groups.shape).map(Reason.groupsTooLarge)
  }.flatten.headOption
}
