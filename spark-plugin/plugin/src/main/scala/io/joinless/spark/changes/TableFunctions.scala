package io.joinless.spark.changes

import io.joinless.spark.errors.JoinlessErrors
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{
  CreateNamedStruct,
  Expression,
  ExpressionInfo,
  FunctionTableSubqueryArgumentExpression,
  Literal,
  NamedArgumentExpression,
  SubqueryExpression,
  UnaryMinus
}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.{IntegerType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Code that the table functions share. */
private[spark] object TableFunctions {

  /** A table function, as a session registers it. */
  type Registered = (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan)

  /** For `DESCRIBE FUNCTION`.
    *
    * @param arguments of the call, as text
    * @param meaning the result of the function
    * @param example arguments of a call
    */
  def info(of: String, name: String, arguments: String, meaning: String, example: String): ExpressionInfo =
    new ExpressionInfo(
      of,
      null,
      name,
      s"_FUNC_($arguments) - Returns $meaning",
      "",
      s"\n    Examples:\n      > SELECT * FROM _FUNC_($example);\n  ",
      "",
      "",
      "",
      "",
      ""
    )

  /** A query in `TABLE(…)`, without PARTITION BY and without ORDER BY: neither is supported. */
  object Table {
    def unapply(argument: Expression): Option[LogicalPlan] = argument match {
      case FunctionTableSubqueryArgumentExpression(query, _, _, Seq(), false, Seq(), _) => Some(query)
      case _ => None
    }
  }

  /** Names of columns: strings, as which bare names arrive here ([[NamesAsArguments]]). */
  object Names {
    def unapply(arguments: Seq[Expression]): Option[Seq[String]] = {
      val names = arguments.collect { case Literal(column: UTF8String, _: StringType) => column.toString }
      Option.when(names.size == arguments.size)(names)
    }
  }

  /** One column, or several in parentheses. */
  object Columns {
    def unapply(argument: Expression): Option[Seq[String]] = argument match {
      case several: CreateNamedStruct => Names.unapply(several.valExprs)
      case one => Names.unapply(Seq(one))
    }
  }

  /** An argument that is given by its name. */
  object Named {
    def unapply(argument: Expression): Option[(String, Expression)] = argument match {
      case NamedArgumentExpression(name, value) => Some(name -> value)
      case _ => None
    }
  }

  /** The values of parameters, of arguments that are given by their positions or by their names; None
    * if there is one too many, twice, or of another name.
    */
  def byName(parameters: Seq[String], arguments: Seq[Expression]): Option[Map[String, Expression]] = {
    val (named, positional) = arguments.partition(Named.unapply(_).isDefined)
    val found = parameters.zip(positional) ++ named.collect { case Named(name, value) => name -> value }
    val values = found.toMap
    Option.when(values.size == arguments.size && values.keySet.subsetOf(parameters.toSet))(values)
  }

  /** A whole number, as a literal, negative or not. */
  object Number {
    def unapply(argument: Expression): Option[Long] = argument match {
      case Literal(value: Int, IntegerType) => Some(value.toLong)
      case Literal(value: Long, LongType) => Some(value)
      case UnaryMinus(Number(value), _) => Some(-value)
      case _ => None
    }
  }

  /** The error of arguments that a function does not take.
    *
    * @param usage a call as it should be
    */
  def refused(function: String, usage: String, arguments: Seq[Expression]): Exception =
    JoinlessErrors.tableFunction(function, usage, arguments.map(text).mkString(", "))

  /** An argument as users write it. */
  def text(argument: Expression): String = argument match {
    case Table(_) => "TABLE(...)"
    case _: FunctionTableSubqueryArgumentExpression => "TABLE(...) PARTITION BY or ORDER BY"
    case NamedArgumentExpression(name, value) => s"$name => ${text(value)}"
    case _: SubqueryExpression => "(SELECT ...)"
    case other => other.sql
  }
}
