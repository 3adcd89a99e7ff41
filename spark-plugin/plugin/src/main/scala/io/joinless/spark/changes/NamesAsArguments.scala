package io.joinless.spark.changes

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedTableValuedFunction}
import org.apache.spark.sql.catalyst.expressions.{
  CreateNamedStruct,
  CreateStruct,
  Expression,
  Literal,
  NamedArgumentExpression
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/** In `expire(TABLE(t), ts, …)`, `latest(TABLE(t), (shop, id), at)` and the other table functions,
  * a bare name becomes a string literal. Spark would look for a column of the rows around the
  * function, of which there are none.
  *
  * @param functions their names
  */
final class NamesAsArguments(functions: Set[String]) extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call: UnresolvedTableValuedFunction
        if functions(call.name.last.toLowerCase(Locale.ROOT)) && call.functionArgs.exists(isName) =>
      call.copy(functionArgs = call.functionArgs.map(literal))
  }

  private def literal(argument: Expression): Expression = argument match {
    case name: UnresolvedAttribute => Literal(name.nameParts.mkString("."))
    case several: CreateNamedStruct => CreateStruct(several.valExprs.map(literal))
    case NamedArgumentExpression(key, value) => NamedArgumentExpression(key, literal(value))
    case other => other
  }

  private def isName(argument: Expression): Boolean = argument match {
    case several: CreateNamedStruct => several.valExprs.exists(isName)
    case NamedArgumentExpression(_, value) => isName(value)
    case other => other.isInstanceOf[UnresolvedAttribute]
  }
}
