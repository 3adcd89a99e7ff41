package io.joinless.spark.rules.meaning

import io.joinless.spark.rules.blocks.OuterScope
import org.apache.spark.sql.catalyst.expressions.{Expression, NamedLambdaVariable, PrettyPythonUDF, PythonUDF}

/** Expressions as texts that are equal in every run of the same query. */
private[spark] object ExpressionTexts {

  /** The SQL text without the ids that Python functions and lambda variables have within one
    * session.
    */
  def plain(expression: Expression): String = {
    val variables = expression.collect { case v: NamedLambdaVariable => v.exprId }.distinct
    expression.transformUp {
      case v: NamedLambdaVariable => v.copy(name = s"x${variables.indexOf(v.exprId)}")
      case f: PythonUDF => PrettyPythonUDF(f.name, f.dataType, f.children)
    }.sql
  }

  /** A text as the name of a column in other texts: quotes would be quoted again in each. */
  def asName(text: String): String = text.replace("`", "")

  /** An expression in terms of its columns' names alone. */
  def unqualified(expression: Expression): String = plain(OuterScope.replace(expression)(_.withQualifier(Nil)))
}
