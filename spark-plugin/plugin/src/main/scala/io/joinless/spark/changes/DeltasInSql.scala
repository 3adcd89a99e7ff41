package io.joinless.spark.changes

import scala.util.DynamicVariable

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.{
  UnresolvedChangelog,
  UnresolvedDeltaOutput,
  UnresolvedExpiry,
  UnresolvedLatest,
  UnresolvedSample
}
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  CreateNamedStruct,
  Expression,
  ExpressionInfo,
  FunctionTableSubqueryArgumentExpression,
  Literal,
  NamedArgumentExpression,
  SubqueryExpression
}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{DayTimeIntervalType, StringType}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** `incrementalEnumerate` in SQL: a table function, and a hint. */
object IncrementalEnumerate {

  private val name = "incremental_enumerate"

  /** `SELECT * FROM incremental_enumerate(TABLE(<query>) [, 'weight'])`. */
  val description: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(query)[, form]",
      "the changes of the result of a query over streams, batch by batch, in one of the forms 'change_type' (a row per copy, with the " +
        "column _change_type; the default), 'weight' (one row, with the signed count _weight) and 'on_close' (each row once, when it is " +
        "final).",
      "TABLE(SELECT src, COUNT(*) FROM follows GROUP BY src), 'weight'"
    ),
    {
      case Seq(TableFunctions.Table(query)) => UnresolvedDeltaOutput(query, DeltaForm.ChangeType)
      case Seq(TableFunctions.Table(query), form) => UnresolvedDeltaOutput(query, formOf(form))
      case arguments => throw JoinlessErrors.deltaForm(arguments.map(TableFunctions.text).mkString(", "))
    }
  )

  /** The form that an argument names: a string, or a bare name. Anything else is an error with the
    * argument's text.
    */
  private[changes] def formOf(argument: Any): DeltaForm = {
    val text = argument match {
      case Literal(value: UTF8String, _: StringType) => value.toString
      case attribute: Attribute => attribute.name
      case expression: Expression => TableFunctions.text(expression)
      case other => other.toString
    }
    DeltaForm.of(text).getOrElse(throw JoinlessErrors.deltaForm(text))
  }
}

/** `expire` in SQL: `SELECT * FROM expire(TABLE(<query>), 'ts', INTERVAL '1' HOUR)`. */
object Expire {

  private val name = "expire"

  val description: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = (
    FunctionIdentifier(name),
    TableFunctions.info(
      getClass.getName,
      name,
      "TABLE(query), column, interval",
      "the rows of a stream or a changelog that are not older than an interval: a row is deleted when the watermark reaches its time in the " +
        "column, a TIMESTAMP with a watermark, and the interval.",
      "TABLE(readings), 'ts', INTERVAL '1' HOUR"
    ),
    {
      case Seq(TableFunctions.Table(query), Literal(column: UTF8String, _: StringType), after) =>
        UnresolvedExpiry(query, column.toString, textOf(after))
      case arguments => throw JoinlessErrors.expiry(
          "ARGUMENTS",
          arguments.lift(1).fold("?")(TableFunctions.text),
          arguments.headOption.fold("?")(_ => "the table")
        )
    }
  )

  /** An interval as `fromIntervalString` reads it; other expressions are returned as text, to be
    * refused.
    */
  private def textOf(after: Expression): String = after match {
    case Literal(micros: Long, _: DayTimeIntervalType) => s"$micros microseconds"
    case Literal(text: UTF8String, _: StringType) => text.toString
    case Literal(interval: CalendarInterval, _) => interval.toString
    case other => TableFunctions.text(other)
  }
}

/** Code that the table functions share. */
private[changes] object TableFunctions {

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

/** `SELECT /*+ INCREMENTAL */ …` or `/*+ INCREMENTAL('weight') */`, on one SELECT block;
  * `df.hint("incremental")` too.
  */
object IncrementalHint extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case UnresolvedHint(name, parameters, child) if name.equalsIgnoreCase("incremental") =>
      parameters match {
        case Seq() => UnresolvedDeltaOutput(child, DeltaForm.ChangeType)
        case Seq(form) => UnresolvedDeltaOutput(child, IncrementalEnumerate.formOf(form))
        case several => throw JoinlessErrors.deltaForm(several.mkString(", "))
      }
  }
}

/** Adds the mark once the columns of its query are resolved. */
object ResolveDeltaOutput extends Rule[LogicalPlan] {

  private val readsTables = new DynamicVariable(false)

  /** Within `body`, which analyzes a query, the mark may stand above tables that are read as they
    * change, and are no streams yet.
    */
  private[spark] def overTables[A](body: => A): A = readsTables.withValue(true)(body)

  private def mustStream(plan: LogicalPlan): Unit =
    if (!plan.isStreaming && !readsTables.value) throw JoinlessErrors.notStreaming()

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case UnresolvedDeltaOutput(child, form) if child.resolved =>
      mustStream(child)
      Changes.marked(child, form)
    case UnresolvedChangelog(child, column) if child.resolved =>
      mustStream(child)
      Changes.changelog(child, column)
    case UnresolvedLatest(child, key, order) if child.resolved => Latest(child, key, order)
    case UnresolvedExpiry(child, column, after) if child.resolved =>
      mustStream(child)
      Changes.expiring(child, column, after)
    case UnresolvedSample(child, size, seed, by) if child.resolved =>
      mustStream(child)
      Changes.sampling(child, size, seed, Option.when(by.nonEmpty)(by))
  }
}
