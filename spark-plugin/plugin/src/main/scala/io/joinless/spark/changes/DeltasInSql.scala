package io.joinless.spark.changes

import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.plans.{DeltaForm, UnresolvedDeltaOutput, UnresolvedExpiry}
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  ExpressionInfo,
  FunctionTableSubqueryArgumentExpression,
  Literal
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
    new ExpressionInfo(getClass.getName, name),
    {
      case Seq(FunctionTableSubqueryArgumentExpression(query, _, _, _, _, _, _)) =>
        UnresolvedDeltaOutput(query, DeltaForm.ChangeType)
      case Seq(FunctionTableSubqueryArgumentExpression(query, _, _, _, _, _, _), form) =>
        UnresolvedDeltaOutput(query, formOf(form))
      case arguments => throw JoinlessErrors.deltaForm(arguments.map(_.sql).mkString(", "))
    }
  )

  private[changes] def formOf(argument: Any): DeltaForm = {
    val text = argument match {
      case Literal(value: UTF8String, _: StringType) => value.toString
      case attribute: Attribute => attribute.name
      case expression: Expression => expression.sql
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
    new ExpressionInfo(getClass.getName, name),
    {
      case Seq(FunctionTableSubqueryArgumentExpression(query, _, _, _, _, _, _), column: Literal, after) =>
        UnresolvedExpiry(query, String.valueOf(column.value), textOf(after))
      case arguments => throw JoinlessErrors.expiry(
          "ARGUMENTS",
          arguments.lift(1).fold("?")(_.sql),
          arguments.headOption.fold("?")(_ => "the table")
        )
    }
  )

  /** An interval as `fromIntervalString` reads it; what is none stays what it is, to be refused. */
  private def textOf(after: Expression): String = after match {
    case Literal(micros: Long, _: DayTimeIntervalType) => s"$micros microseconds"
    case Literal(text: UTF8String, _: StringType) => text.toString
    case Literal(interval: CalendarInterval, _) => interval.toString
    case other => other.sql
  }
}

/** `SELECT /*+ INCREMENTAL */ …` or `/*+ INCREMENTAL('weight') */`, on one SELECT block; `df.hint("incremental")` too. */
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

/** Puts the mark where the columns of its query are known. */
object ResolveDeltaOutput extends Rule[LogicalPlan] {

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case UnresolvedDeltaOutput(child, form) if child.resolved =>
      if (!child.isStreaming) throw JoinlessErrors.notStreaming()
      Changes.marked(child, form)
    case UnresolvedExpiry(child, column, after) if child.resolved =>
      if (!child.isStreaming) throw JoinlessErrors.notStreaming()
      Changes.expiring(child, column, after)
  }
}
