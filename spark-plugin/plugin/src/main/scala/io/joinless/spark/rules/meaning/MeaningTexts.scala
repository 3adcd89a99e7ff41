package io.joinless.spark.rules.meaning

import io.joinless.spark.rules.blocks.{Leaf, OuterScope}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** The meaning of values and results, as texts that are equal in every run of the same query:
  * columns are identified by their names in the source, relations by their positions, conditions
  * are sorted. Aliases, ids and the nesting of subqueries do not occur in the texts. For rows
  * [[LeafSource.rows]] has them.
  */
private[spark] object MeaningTexts {

  /** The text of an expression over the columns of a plan of projections, filters and unions over a
    * stream.
    */
  def ofValue(expression: Expression, plan: LogicalPlan): String =
    ExpressionTexts.unqualified(LeafSource(plan).resolve(expression))

  /** The texts of conditions over a block's leaves. */
  def ofConditions(conditions: Seq[Expression], leaves: IndexedSeq[Leaf]): IndexedSeq[String] =
    conditions.map(of(_, leaves)).sorted.toIndexedSeq

  /** The text of an expression over a block's leaves: the first one is `r1`. */
  def of(expression: Expression, leaves: IndexedSeq[Leaf]): String = {
    val names = leaves.zipWithIndex.flatMap { case (leaf, i) =>
      val source = LeafSource(leaf.plan)
      leaf.attributes.zip(leaf.columns).map { case (a, column) =>
        a.exprId -> a.withName(ExpressionTexts.unqualified(source.resolve(column))).withQualifier(Seq(s"r${i + 1}"))
      }
    }.toMap
    ExpressionTexts.plain(OuterScope.replace(expression)(a => names.getOrElse(a.exprId, a)))
  }
}
