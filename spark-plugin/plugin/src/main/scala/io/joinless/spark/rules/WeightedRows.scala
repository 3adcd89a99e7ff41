package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Union}

/** Changes of a query's rows, with what is known of them.
  *
  * @param plan the query's columns, then the weight of each change (BIGINT, not NULL)
  * @param shown per column of the query, the position of the column it is of the operator with state below; −1 where it is computed, or
  *   where there are several
  * @param text an expression over the query's columns as it is recorded
  * @param retractable rows can go
  */
final case class WeightedRows(plan: LogicalPlan, shown: Seq[Int], text: Expression => String, retractable: Boolean) {

  /** A projection of the rows of `query`. */
  def project(list: Seq[NamedExpression], query: LogicalPlan): WeightedRows = {
    val values = list.map { case Alias(value, _) => value; case column => column }
    val columns = values.map(value => Alias(own(value, query), "result")())
    val meaning = list.map(_.exprId).zip(values).toMap
    copy(
      Project(columns :+ plan.output.last, plan),
      values.map { case a: Attribute => shown(query.output.indexWhere(_.exprId == a.exprId)); case _ => -1 },
      e => text(OuterScope.replace(e)(a => meaning.getOrElse(a.exprId, a)))
    )
  }

  /** The rows of `query` for which a condition holds. */
  def filter(condition: Expression, query: LogicalPlan): WeightedRows = copy(Filter(own(condition, query), plan))

  private def own(e: Expression, query: LogicalPlan): Expression =
    OuterScope.replace(e)(a => plan.output(query.output.indexWhere(_.exprId == a.exprId)))
}

object WeightedRows {

  /** The rows of a union's parts. */
  def united(union: Union, parts: Seq[WeightedRows]): WeightedRows = {
    val names = union.output.indices.map { i =>
      parts.zip(union.children).map { case (part, query) => part.text(query.output(i)) }.mkString(
        "(",
        " UNION ALL ",
        ")"
      )
    }
    def text(e: Expression) = OuterScope.replace(e) { a =>
      val i = union.output.indexWhere(_.exprId == a.exprId)
      if (i < 0) a else a.withName(names(i)).withQualifier(Nil)
    }
    WeightedRows(
      Union(parts.map(_.plan)),
      union.output.map(_ => -1),
      e => MeaningTexts.plain(text(e)),
      parts.exists(_.retractable)
    )
  }
}
