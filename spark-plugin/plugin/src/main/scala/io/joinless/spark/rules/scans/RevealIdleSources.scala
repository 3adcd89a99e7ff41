package io.joinless.spark.rules.scans

import io.joinless.spark.plans.nodes.IdleSource
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Reverts [[io.joinless.spark.start.HideIdleSources]]. */
object RevealIdleSources {

  /** The plan with Spark's own leaves; `eq` where nothing was hidden. */
  def apply(plan: LogicalPlan): LogicalPlan = plan.transform { case idle: IdleSource => idle.relation }
}
