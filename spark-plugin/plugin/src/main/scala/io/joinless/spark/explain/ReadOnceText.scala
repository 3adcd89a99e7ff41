package io.joinless.spark.explain

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.joinless.StaticSource

/** The static tables that a query reads once, as a line of text for users. */
object ReadOnceText {

  /** None if there are none. */
  def apply(tables: Seq[String]): Option[String] =
    Option.when(tables.nonEmpty)(s"Read once, in the first batch: ${tables.mkString(", ")}")

  /** Each by its name in the query, followed by what it reads where that has another name. */
  def tables(plan: LogicalPlan): Seq[String] = plan.collect { case StaticSource(static) =>
    static.places.filterNot(_ == static.name).mkString(", ") match {
      case "" => static.name
      case places => s"${static.name} ($places)"
    }
  }.distinct
}
