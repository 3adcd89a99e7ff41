package io.joinless.spark.compile

import org.apache.spark.sql.catalyst.expressions.{And, EqualNullSafe, EqualTo, Expression, IsNull, KnownNullable, Or}
import org.apache.spark.sql.catalyst.optimizer.{InferFiltersFromConstraints, OptimizeJoinCondition}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan}
import org.apache.spark.sql.catalyst.util.UnsafeRowUtils.isBinaryStable

/** Rules of the optimizer of Spark 4.2.0 that give rows that SQL does not. Templates are optimized
  * without them ([[of]]); their correct part is applied here ([[replaced]]); and conditions to
  * which they would apply in a batch are written so that they do not ([[kept]]).
  *
  *   - `OptimizeJoinCondition` makes `a <=> b` of `a = b OR (a IS NULL AND b IS NULL)`
  *     (SPARK-58384). Where one value is NULL, one is NULL and the other FALSE. Both let no row
  *     through at the root of a join's condition and below AND and OR, but not below NOT and in the
  *     arguments of functions.
  *   - `InferFiltersFromConstraints` replaces one column by another where they are equal
  *     (SPARK-57727). Texts that are equal under one collation may differ under another.
  */
private[compile] object WrongRules {

  /** The names of the rules that could be wrong for the plan. */
  def of(plan: LogicalPlan): Seq[String] = OptimizeJoinCondition.ruleName +: {
    val texts = plan.collectFirstWithSubqueries { case p if p.output.exists(a => !isBinaryStable(a.dataType)) => p }
    texts.map(_ => InferFiltersFromConstraints.ruleName).toSeq
  }

  /** The optimized plan with `<=>` as a condition of joins where it is meant. */
  def replaced(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case join @ Join(_, _, _, Some(condition), _) => join.copy(condition = Some(nullSafe(condition)))
  }

  /** The condition with `<=>` for its spelled form, at the root and below AND and OR: only there
    * the two are the same.
    */
  private def nullSafe(condition: Expression): Expression = condition match {
    case SpelledNullSafe(a, b) => EqualNullSafe(a, b)
    case And(a, b) => And(nullSafe(a), nullSafe(b))
    case Or(a, b) => Or(nullSafe(a), nullSafe(b))
    case other => other
  }

  /** The compiled plan in which the rules find nothing, since they look for bare equality
    * conditions.
    */
  def kept(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries {
    case join @ Join(_, _, _, Some(condition), _) => join.copy(condition = Some(kept(condition)))
    case filter: Filter => filter.copy(condition = kept(filter.condition))
  }

  /** The condition with equalities hidden: those that the rules would take for parts of `<=>`, and
    * those of texts under a collation.
    */
  private def kept(condition: Expression): Expression = condition.transformUp {
    case or @ SpelledNullSafe(_, _) => or.mapChildren {
        case equal: EqualTo => KnownNullable(equal)
        case nulls => nulls
      }
    case equal @ EqualTo(a, b) if !isBinaryStable(a.dataType) => equal.withNewChildren(Seq(KnownNullable(a), b))
  }

  /** `a = b OR (a IS NULL AND b IS NULL)`, in any order. */
  private object SpelledNullSafe {
    def unapply(condition: Expression): Option[(Expression, Expression)] = condition match {
      case Or(EqualTo(a, b), And(IsNull(c), IsNull(d))) if sameOnes(a, b)(c, d) => Some((a, b))
      case Or(And(IsNull(c), IsNull(d)), EqualTo(a, b)) if sameOnes(a, b)(c, d) => Some((a, b))
      case _ => None
    }

    /** Whether `c` and `d` are `a` and `b`, in either order. */
    private def sameOnes(a: Expression, b: Expression)(c: Expression, d: Expression): Boolean =
      a.semanticEquals(c) && b.semanticEquals(d) || a.semanticEquals(d) && b.semanticEquals(c)
  }
}
