package io.joinless.spark.rules

import io.joinless.spark.plans.RowsSpec
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project, Union}

/** What rows and results mean, as texts that are equal in every run of the same query: columns go by their names in the source,
  * relations by their positions, conditions are sorted. Aliases, ids and the nesting of subqueries do not show.
  */
private[rules] object MeaningTexts {

  /** Which rows a plan of projections, filters and unions over a stream yields, and as what.
    *
    * @param keys positions of columns that are never NULL in a row that is stored: that they are not is left out
    */
  def ofRows(plan: LogicalPlan, keys: Set[Int]): RowsSpec = {
    val source = read(plan)
    val values = plan.output.map(a => source.resolve(a))
    val own = keys.map(values(_))
    val filters = source.conditions.filter {
      case IsNotNull(e) => !own.exists(_.semanticEquals(e))
      case _ => true
    }
    RowsSpec(values.map(text).toIndexedSeq, filters.map(text).distinct.sorted.toIndexedSeq)
  }

  /** Conditions over a block's leaves. */
  def ofConditions(conditions: Seq[Expression], leaves: IndexedSeq[Leaf]): IndexedSeq[String] =
    conditions.map(of(_, leaves)).sorted.toIndexedSeq

  /** An expression over a block's leaves. */
  def of(expression: Expression, leaves: IndexedSeq[Leaf]): String = {
    val names = leaves.zipWithIndex.flatMap { case (leaf, i) =>
      val source = read(leaf.plan)
      leaf.attributes.zip(leaf.columns).map { case (a, column) =>
        a.exprId -> a.withName(text(source.resolve(column))).withQualifier(Seq(s"r${i + 1}"))
      }
    }.toMap
    sql(OuterScope.replace(expression)(a => names.getOrElse(a.exprId, a)))
  }

  private def text(expression: Expression): String =
    sql(OuterScope.replace(expression)(_.withQualifier(Nil)))

  /** Without the ids by which expressions of users and variables of lambdas go in one session. */
  private def sql(expression: Expression): String = {
    val variables = expression.collect { case v: NamedLambdaVariable => v.exprId }.distinct
    val named = expression.transform { case v: NamedLambdaVariable =>
      v.copy(name = s"x${variables.indexOf(v.exprId)}")
    }
    named.sql.replaceAll("#\\d+L?", "")
  }

  /** @param scope what the columns of a plan are over those of its sources */
  final private case class Source(scope: Map[ExprId, Expression], conditions: Seq[Expression]) {
    def resolve(e: Expression): Expression = OuterScope.replace(e)(a => scope.getOrElse(a.exprId, a))
  }

  private def read(plan: LogicalPlan): Source = plan match {
    case Project(list, child) =>
      val below = read(child)
      below.copy(scope = list.map {
        case alias: Alias => alias.exprId -> below.resolve(alias.child)
        case column => column.exprId -> below.resolve(column)
      }.toMap)
    case Filter(condition, child) =>
      val below = read(child)
      below.copy(conditions = below.conditions ++ Conditions.conjuncts(condition).map(below.resolve))
    case union: Union =>
      val parts = union.children.map(child => ofRows(child, Set.empty))
      columns(
        union,
        parts.map(p => s"SELECT ${p.values.mkString(", ")} WHERE ${p.filters.mkString(" AND ")}").mkString(
          " UNION ALL "
        )
      )
    case leaf => columns(leaf, "")
  }

  private def columns(plan: LogicalPlan, of: String): Source = {
    val names = Names.distinct(plan.output.map(_.name).toIndexedSeq)
    val scope = plan.output.zip(names).map { case (a, name) =>
      a.exprId -> a.withName(if (of.isEmpty) name else s"$name of ($of)").withQualifier(Nil)
    }
    Source(scope.toMap, Nil)
  }
}
