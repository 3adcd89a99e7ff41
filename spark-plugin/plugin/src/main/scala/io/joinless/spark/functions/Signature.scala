package io.joinless.spark.functions

import io.joinless.spark.changes.TableFunctions
import io.joinless.spark.plans.marks.UnresolvedCall
import org.apache.spark.sql.{DataFrame, SparkSession}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, BooleanType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** What a table function takes: relations in `TABLE(...)`, then values, by position or by name.
  *
  * @param usage a call as it should be, for errors
  * @param parameters the names of the values, in the order of their positions
  * @param tables the number of relations
  */
final private[functions] case class Signature(function: String, usage: String, parameters: Seq[String], tables: Int) {

  /** The arguments of a call; refuses those that the function does not take. */
  def apply(arguments: Seq[Expression]): Call = {
    val (relations, values) = arguments.span(TableFunctions.Table.unapply(_).isDefined)
    val found = TableFunctions.byName(parameters, values).filter(_ => relations.size == tables)
    val queries = relations.collect { case TableFunctions.Table(query) => query }
    new Call(this, queries, found.getOrElse(refuse(arguments)), arguments)
  }

  def refuse(arguments: Seq[Expression]): Nothing = throw TableFunctions.refused(function, usage, arguments)

  /** The function, as a session registers it.
    *
    * @param meaning of its result, for `DESCRIBE FUNCTION`
    * @param made the result of a call, of its session and relations
    */
  def registered(meaning: String)(made: Call => (SparkSession, Seq[DataFrame]) => DataFrame)
      : TableFunctions.Registered = {
    val arguments = usage.substring(usage.indexOf('(') + 1, usage.length - 1)
    (
      FunctionIdentifier(function),
      TableFunctions.info(getClass.getName, function, arguments, meaning, arguments),
      expressions => {
        val call = apply(expressions)
        UnresolvedCall(function, call.tables)(made(call))
      }
    )
  }
}

private object Signature {

  /** A constant list of lists of texts. */
  object Lists {
    def unapply(expression: Expression): Boolean = expression.foldable && (expression.dataType match {
      case ArrayType(ArrayType(_: StringType, _), _) => true
      case _ => false
    })
  }
}

/** The arguments of one call.
  *
  * @param tables the relations, not resolved
  * @param values of those parameters that the call has
  * @param arguments all of them, for errors
  */
final private[functions] class Call(
    signature: Signature,
    val tables: Seq[LogicalPlan],
    values: Map[String, Expression],
    arguments: Seq[Expression]
) {

  /** The value of a parameter; None if it is not there, or NULL. */
  private def value[A](name: String)(read: PartialFunction[Expression, A]): Option[A] =
    values.get(name).filter { case Literal(null, _) => false; case _ => true }
      .map(argument => read.applyOrElse(argument, (_: Expression) => refuse()))

  def text(name: String): Option[String] = value(name) {
    case Literal(text: UTF8String, _: StringType) => text.toString
  }

  def number(name: String): Option[Long] = value(name) { case TableFunctions.Number(number) => number }

  def flag(name: String): Option[Boolean] = value(name) { case Literal(flag: Boolean, BooleanType) => flag }

  /** Names of columns: one, or several in parentheses. */
  def columns(name: String): Option[Seq[String]] = value(name) { case TableFunctions.Columns(columns) => columns }

  /** Lists of names of columns. */
  def lists(name: String): Option[Seq[Seq[String]]] = value(name) {
    case lists @ Signature.Lists() =>
      lists.eval().asInstanceOf[ArrayData].toSeq[ArrayData](ArrayType(StringType))
        .map(_.toSeq[UTF8String](StringType).map(_.toString))
  }

  /** What a parameter must have. */
  def needed[A](found: Option[A]): A = found.getOrElse(refuse())

  /** Refuses the call. */
  def refuse(): Nothing = signature.refuse(arguments)
}
