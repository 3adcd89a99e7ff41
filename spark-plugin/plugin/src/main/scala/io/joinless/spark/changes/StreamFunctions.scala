package io.joinless.spark.changes

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The table functions over streams, as a session registers them. */
object StreamFunctions {

  val all: Seq[(FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)] = Seq(
    ChangelogInSql.description,
    LatestInSql.description,
    Expire.description,
    IncrementalEnumerate.description,
    SampleInSql.description
  )
}
