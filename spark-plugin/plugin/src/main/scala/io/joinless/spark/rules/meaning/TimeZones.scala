package io.joinless.spark.rules.meaning

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal, TimeZoneAwareExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType, TimestampType}

/** The time zones on which values depend. SQL texts do not contain them: each session has one of
  * its own.
  */
private[spark] object TimeZones {

  /** The zones in which expressions are evaluated, as a text; None where no value depends on a time
    * zone.
    */
  def of(expressions: Seq[Expression]): Option[String] = {
    val zones = expressions.flatMap(_.collect {
      case cast: Cast if !Cast.needsTimeZone(cast.child.dataType, cast.dataType) => None
      case e: TimeZoneAwareExpression => e.timeZoneId
    }).flatten.distinct.sorted
    Option.when(zones.nonEmpty)(zones.mkString(", "))
  }

  /** The same, and the zone in which texts show instants: equal texts of two zones are different
    * instants.
    */
  def ofTexts(expressions: Seq[Expression]): Option[String] =
    both(of(expressions), Option.when(expressions.exists(_.exists(isInstant)))(SQLConf.get.sessionLocalTimeZone))

  /** Whether it is a literal with an instant in it. */
  private def isInstant(e: Expression): Boolean = e match {
    case Literal(value, dataType) => value != null && hasInstants(dataType)
    case _ => false
  }

  /** Whether values of a type contain instants. */
  private def hasInstants(dataType: DataType): Boolean = dataType match {
    case TimestampType => true
    case ArrayType(element, _) => hasInstants(element)
    case MapType(key, value, _) => hasInstants(key) || hasInstants(value)
    case StructType(fields) => fields.exists(f => hasInstants(f.dataType))
    case _ => false
  }

  /** The same for all expressions in a plan, and for its texts. */
  def ofTextsIn(plan: LogicalPlan): Option[String] = ofTexts(plan.collect { case node => node.expressions }.flatten)

  /** The same for all expressions in a plan. */
  def in(plan: LogicalPlan): Option[String] = of(plan.collect { case node => node.expressions }.flatten)

  /** The zones of both. */
  def both(a: Option[String], b: Option[String]): Option[String] = {
    val zones = (a ++ b).toSeq.distinct.sorted
    Option.when(zones.nonEmpty)(zones.mkString(", "))
  }
}
