package io.joinless.spark.rules

import io.joinless.spark.spec.RowsSpec
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The meaning of rows and results, as texts that are equal in every run of the same query: columns
  * are identified by their names in the source, relations by their positions, conditions are
  * sorted. Aliases, ids and the nesting of subqueries do not occur in the texts.
  */
private[spark] object MeaningTexts {

  /** The rows and the columns that a plan of projections, filters and unions over a stream returns.
    *
    * @param keys positions of columns that are never NULL in a stored row: conditions that say so
    *   are left out
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

  /** An expression in terms of its columns' names alone. */
  def unqualified(expression: Expression): String = text(expression)

  private def text(expression: Expression): String =
    sql(OuterScope.replace(expression)(_.withQualifier(Nil)))

  /** The SQL text without the ids that Python functions and lambda variables have within one
    * session.
    */
  private def sql(expression: Expression): String = {
    val variables = expression.collect { case v: NamedLambdaVariable => v.exprId }.distinct
    expression.transformUp {
      case v: NamedLambdaVariable => v.copy(name = s"x${variables.indexOf(v.exprId)}")
      case f: PythonUDF => PrettyPythonUDF(f.name, f.dataType, f.children)
    }.sql
  }
}
