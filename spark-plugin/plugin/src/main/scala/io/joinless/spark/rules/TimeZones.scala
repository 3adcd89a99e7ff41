package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, TimeZoneAwareExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The time zones on which values depend. SQL texts do not show them: a session has one, and each session its own. */
private[spark] object TimeZones {

  /** None where no value depends on one. */
  def of(expressions: Seq[Expression]): Option[String] = {
    val zones = expressions.flatMap(_.collect {
      case cast: Cast if !Cast.needsTimeZone(cast.child.dataType, cast.dataType) => None
      case e: TimeZoneAwareExpression => e.timeZoneId
    }).flatten.distinct.sorted
    Option.when(zones.nonEmpty)(zones.mkString(", "))
  }

  /** Of all expressions in a plan. */
  def in(plan: LogicalPlan): Option[String] = of(plan.collect { case node => node.expressions }.flatten)

  /** Of both. */
  def both(a: Option[String], b: Option[String]): Option[String] = {
    val zones = (a ++ b).toSeq.distinct.sorted
    Option.when(zones.nonEmpty)(zones.mkString(", "))
  }
}
