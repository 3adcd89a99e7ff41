package io.joinless.spark.changes

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedTableValuedFunction}
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** In `expire(TABLE(t), ts, …)`, `incremental_enumerate(TABLE(t), weight)` and
  * `sample(TABLE(t), 10, 7, city)`, a bare name becomes a string literal. Spark would look for a
  * column of the rows around the function, of which there are none.
  */
object NamesAsArguments extends Rule[LogicalPlan] {

  private val functions =
    Set(IncrementalEnumerate.description, Expire.description, SampleInSql.description).map(_._1.funcName)

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call: UnresolvedTableValuedFunction
        if functions(call.name.last.toLowerCase(Locale.ROOT)) && call.functionArgs.exists(isName) =>
      call.copy(functionArgs = call.functionArgs.map {
        case UnresolvedAttribute(parts) => Literal(parts.mkString("."))
        case other => other
      })
  }

  private def isName(argument: Expression): Boolean = argument.isInstanceOf[UnresolvedAttribute]
}
