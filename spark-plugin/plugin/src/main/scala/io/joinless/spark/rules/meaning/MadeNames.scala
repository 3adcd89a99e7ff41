package io.joinless.spark.rules.meaning

import scala.collection.mutable

import io.joinless.spark.spec.MadeName
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan

/** Columns that Spark's optimizer makes are identified by their expressions: their names
  * ([[MadeName]]) may differ in another run of the same query.
  */
private[spark] object MadeNames {

  /** An optimized plan with a name for each such column that is equal in every run; ids stay. */
  def replaced(plan: LogicalPlan): LogicalPlan = {
    val names = mutable.Map.empty[ExprId, String]
    plan.transformUp { case node =>
      val renamed = node.transformExpressions { case a: Attribute => names.get(a.exprId).fold(a)(a.withName) }
      renamed.transformExpressions {
        case alias: Alias if MadeName.is(alias.name) =>
          val name = MadeName.of(ExpressionTexts.unqualified(alias.child))
          names(alias.exprId) = name
          alias.copy(name = name)(
            alias.exprId,
            alias.qualifier,
            alias.explicitMetadata,
            alias.nonInheritableMetadataKeys
          )
      }
    }
  }

  /** The column of a plan under a name that is equal in every run. */
  def stable(column: Attribute, plan: LogicalPlan): Attribute =
    if (MadeName.is(column.name)) column.withName(MadeName.of(MeaningTexts.ofValue(column, plan))) else column
}
