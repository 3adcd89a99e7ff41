package io.joinless.spark.changes

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, SubqueryAlias}

/** Aliases that people have chosen, as relations are called in `explain`, in records and in errors.
  */
object Aliases {

  /** Spark's own name of a subquery without a name. */
  private val Unnamed = SubqueryAlias.generateSubqueryName()

  /** Views of one statement, which stand for DataFrames: those of PySpark's `spark.sql`, and those of
    * our package.
    */
  private val OfStatement = "_(?:pyspark(?:_connect_temp_view)?|joinless)_[0-9a-f]{32}".r

  /** The name of an alias, if it is not one that was made up for a statement, and what is below it.
    */
  def unapply(plan: LogicalPlan): Option[(Option[String], LogicalPlan)] = plan match {
    case SubqueryAlias(name, child) =>
      Some(Option.unless(name.name == Unnamed || OfStatement.matches(name.name))(name.name) -> child)
    case _ => None
  }
}
