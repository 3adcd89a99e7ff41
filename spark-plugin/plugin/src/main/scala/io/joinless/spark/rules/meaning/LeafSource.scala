package io.joinless.spark.rules.meaning

import io.joinless.spark.rules.blocks.{Conditions, Names, OuterScope}
import io.joinless.spark.spec.{MadeName, RowsSpec}
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

  /** A plan in terms of its source. A union is a source whose columns are named by the texts of all
    * parts.
    */
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
      val parts = union.children.map(child => rows(child, Set.empty))
      val texts = parts.map { p =>
        val where = if (p.filters.isEmpty) "" else p.filters.mkString(" WHERE ", " AND ", "")
        s"SELECT ${p.values.mkString(", ")}$where"
      }
      columns(union, name => ExpressionTexts.asName(s"$name of (${texts.mkString(" UNION ALL ")})"))
    case leaf => columns(leaf, identity)
  }

  /** The rows and the columns that a plan of projections, filters and unions over a stream returns.
    *
    * @param keys positions of columns that are never NULL in a stored row: conditions that say so
    *   are left out
    */
  def rows(plan: LogicalPlan, keys: Set[Int]): RowsSpec = {
    val source = LeafSource(plan)
    val values = plan.output.map(a => source.resolve(a))
    val own = keys.map(values(_))
    val filters = source.conditions.filter {
      case IsNotNull(e) => !own.exists(_.semanticEquals(e))
      case _ => true
    }
    RowsSpec(
      values.map(ExpressionTexts.unqualified).toIndexedSeq,
      filters.map(ExpressionTexts.unqualified).distinct.sorted.toIndexedSeq
    )
  }

  /** A plan as a source: its columns under unique names.
    *
    * @param called the name of a column in texts
    */
  private def columns(plan: LogicalPlan, called: String => String): LeafSource = {
    val own = plan.output.map(_.name).toIndexedSeq
    val names = if (plan.children.isEmpty) Names.distinct(own) else withoutNumbers(own)
    val scope = plan.output.zip(names).map { case (a, name) => a.exprId -> a.withName(called(name)).withQualifier(Nil) }
    LeafSource(scope.toMap, Nil)
  }

  /** The names of columns of which nothing is known but their position. */
  private def withoutNumbers(names: IndexedSeq[String]): IndexedSeq[String] =
    Names.distinct(names.map(name => if (MadeName.is(name)) MadeName.Plain else name))
}
