package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Union}

/** A plan of projections and filters in terms of its source: `scope` maps each of its columns to an
  * expression over the source's columns, `conditions` say which rows it keeps. A source's columns
  * are identified by name, each name once.
  */
final private[spark] case class LeafSource(scope: Map[ExprId, Expression], conditions: Seq[Expression]) {

  /** An expression over the plan's columns, rewritten over those of its source. */
  def resolve(e: Expression): Expression = OuterScope.replace(e)(a => scope.getOrElse(a.exprId, a))
}

private[spark] object LeafSource {

  def apply(plan: LogicalPlan): LeafSource = plan match {
    case Project(list, child) =>
      val below = LeafSource(child)
      below.copy(scope = list.map {
        case alias: Alias => alias.exprId -> below.resolve(alias.child)
        case column => column.exprId -> below.resolve(column)
      }.toMap)
    case Filter(condition, child) =>
      val below = LeafSource(child)
      below.copy(conditions = below.conditions ++ Conditions.conjuncts(condition).map(below.resolve))
    case union: Union =>
      val parts = union.children.map(child => MeaningTexts.ofRows(child, Set.empty))
      val texts = parts.map { p =>
        val where = if (p.filters.isEmpty) "" else p.filters.mkString(" WHERE ", " AND ", "")
        s"SELECT ${p.values.mkString(", ")}$where"
      }
      columns(union, name => MeaningTexts.asName(s"$name of (${texts.mkString(" UNION ALL ")})"))
    case leaf => columns(leaf, identity)
  }

  private def columns(plan: LogicalPlan, called: String => String): LeafSource = {
    val own = plan.output.map(_.name).toIndexedSeq
    val names = if (plan.children.isEmpty) Names.distinct(own) else MadeNames.withoutNumbers(own)
    val scope = plan.output.zip(names).map { case (a, name) => a.exprId -> a.withName(called(name)).withQualifier(Nil) }
    LeafSource(scope.toMap, Nil)
  }
}
