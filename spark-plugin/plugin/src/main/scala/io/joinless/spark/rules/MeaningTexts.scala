package io.joinless.spark.rules

import io.joinless.spark.spec.RowsSpec
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** What rows and results mean, as texts that are equal in every run of the same query: columns go by their names in the source,
  * relations by their positions, conditions are sorted. Aliases, ids and the nesting of subqueries do not show.
  */
private[spark] object MeaningTexts {

  /** Which rows a plan of projections, filters and unions over a stream yields, and as what.
    *
    * @param keys positions of columns that are never NULL in a row that is stored: that they are not is left out
    */
  def ofRows(plan: LogicalPlan, keys: Set[Int]): RowsSpec = {
    val source = LeafSource(plan)
    val values = plan.output.map(a => source.resolve(a))
    val own = keys.map(values(_))
    val filters = source.conditions.filter {
      case IsNotNull(e) => !own.exists(_.semanticEquals(e))
      case _ => true
    }
    RowsSpec(values.map(text).toIndexedSeq, filters.map(text).distinct.sorted.toIndexedSeq)
  }

  /** An expression over the columns of such a plan. */
  def ofValue(expression: Expression, plan: LogicalPlan): String = text(LeafSource(plan).resolve(expression))

  /** Conditions over a block's leaves. */
  def ofConditions(conditions: Seq[Expression], leaves: IndexedSeq[Leaf]): IndexedSeq[String] =
    conditions.map(of(_, leaves)).sorted.toIndexedSeq

  /** An expression over a block's leaves. */
  def of(expression: Expression, leaves: IndexedSeq[Leaf]): String = {
    val names = leaves.zipWithIndex.flatMap { case (leaf, i) =>
      val source = LeafSource(leaf.plan)
      leaf.attributes.zip(leaf.columns).map { case (a, column) =>
        a.exprId -> a.withName(text(source.resolve(column))).withQualifier(Seq(s"r${i + 1}"))
      }
    }.toMap
    sql(OuterScope.replace(expression)(a => names.getOrElse(a.exprId, a)))
  }

  /** An expression whose columns have their texts as names. */
  def plain(expression: Expression): String = sql(expression)

  /** A text as the name of a column in other texts: quotes would be quoted again in each. */
  def asName(text: String): String = text.replace("`", "")

  /** An expression in the names of its columns alone. */
  def unqualified(expression: Expression): String = text(expression)

  private def text(expression: Expression): String =
    sql(OuterScope.replace(expression)(_.withQualifier(Nil)))

  /** Without the ids by which functions in Python and variables of lambdas go in one session. */
  private def sql(expression: Expression): String = {
    val variables = expression.collect { case v: NamedLambdaVariable => v.exprId }.distinct
    expression.transformUp {
      case v: NamedLambdaVariable => v.copy(name = s"x${variables.indexOf(v.exprId)}")
      case f: PythonUDF => PrettyPythonUDF(f.name, f.dataType, f.children)
    }.sql
  }
}
