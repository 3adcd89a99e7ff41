package org.apache.spark.sql.joinless

import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, UnresolvedFunction}

/** Functions by name, as this range of Spark's versions names them. */
object Functions {

  /** The class that evaluates a function of Spark's own. */
  def builtinClass(name: String): Option[String] =
    FunctionRegistry.builtin.lookupFunction(FunctionRegistry.builtinFunctionIdentifier(name)).map(_.getClassName)

  /** Whether a call says IGNORE NULLS or RESPECT NULLS. */
  def choosesNulls(call: UnresolvedFunction): Boolean = call.ignoreNulls.isDefined
}
