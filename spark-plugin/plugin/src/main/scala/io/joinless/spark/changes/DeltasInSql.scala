package io.joinless.spark.changes

import scala.util.DynamicVariable

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.marks.{
  UnresolvedChangelog,
  UnresolvedDeltaOutput,
  UnresolvedExpiry,
  UnresolvedKey,
  UnresolvedLatest,
  UnresolvedSample
}
import io.joinless.spark.plans.values.DeltaForm
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnresolvedHint}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.{DayTimeIntervalType, StringType}
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** `incrementalEnumerate` in SQL: a table function, and a hint. */
object IncrementalEnumerate {

  private val name = "incremental_enumerate"

  /** `SELECT * FROM incremental_enumerate(TABLE(<query>) [, 'weight'])`. */
  val description: TableFunctions.Registered = (
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

  val description: TableFunctions.Registered = (
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
    case UnresolvedKey(child, key) if child.resolved =>
      mustStream(child)
      Changes.keyed(child, key)
    case UnresolvedExpiry(child, column, after) if child.resolved =>
      mustStream(child)
      Changes.expiring(child, column, after)
    case UnresolvedSample(child, size, seed, by, replacement) if child.resolved =>
      mustStream(child)
      if (replacement) throw JoinlessErrors.sampleArguments("TABLE(...) of a stream, replacement => true")
      Changes.sampling(child, size, seed, Option.when(by.nonEmpty)(by))
  }
}
