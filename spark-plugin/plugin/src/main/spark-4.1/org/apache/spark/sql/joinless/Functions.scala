package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedFunction}

/** Functions by name, as this range of Spark's versions names them. */
object Functions {

  /** The class that evaluates a function of Spark's own. */
  def builtinClass(name: String): Option[String] =
    FunctionRegistry.builtin.lookupFunction(FunctionIdentifier(name)).map(_.getClassName)

  /** Whether a call says IGNORE NULLS or RESPECT NULLS. RESPECT NULLS is not to be seen here. */
  def choosesNulls(call: UnresolvedFunction): Boolean = call.ignoreNulls
}
