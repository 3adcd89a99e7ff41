package io.joinless.spark.compile.template

import io.joinless.spark.rules.extract.{ExtractJoinBlock, StaticSides}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project, Union}

/** The parts of a union with joins in it, such as the rows of an outer join with and without a
  * match:
  * {{{ (A UNION ALL B) JOIN c  =  (A JOIN c) UNION ALL (B JOIN c) }}}
  * So the rows of such a union need not be stored for the joins above it, and each part has the
  * bounds in time that follow from its own joins.
  */
private[compile] object UnionParts {

  /** Plans whose rows together are those of this one, with columns by position. The first has the
    * plan's own columns. Only the plan itself where it is no such union, or has too many parts.
    */
  def apply(plan: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan] = {
    val parts = partsOf(plan)
    if (parts.size <= Most) parts else Seq(plan)
  }

  /** The union of the joins of the parts of an inner join's sides; the join itself where its sides
    * have one part each, or there would be more than `Most` joins.
    */
  def joined(join: Join)(implicit statics: StaticSides): LogicalPlan = {
    val pairs = for (left <- UnionParts(join.left); right <- UnionParts(join.right)) yield of(join, left, right)
    if (pairs.size == 1 || pairs.size > Most) join else Union(pairs)
  }

  /** A join of parts of its sides, with its tags. */
  def of(join: Join, left: LogicalPlan, right: LogicalPlan): Join = {
    val condition = join.condition.map(e => over(join.right, right)(over(join.left, left)(e)))
    val part = join.copy(left, right, condition = condition)
    part.copyTagsFrom(join)
    part
  }

  final private val Most = 8

  /** All parts, however many. Unions with joins in them are taken apart, and so are projections and
    * conditions above them that are not random; everything else is one part.
    */
  private def partsOf(plan: LogicalPlan)(implicit statics: StaticSides): Seq[LogicalPlan] = plan match {
    case union: Union if holdsJoins(union) => union.children.flatMap(partsOf(_))
    case Project(list, child) if list.forall(_.deterministic) && holdsJoins(child) =>
      partsOf(child).map(part => Project(list.map(column(_, over(child, part))), part))
    case Filter(condition, child) if condition.deterministic && holdsJoins(child) =>
      partsOf(child).map(part => Filter(over(child, part)(condition), part))
    case other => Seq(other)
  }

  /** An expression over a plan's columns, rewritten over those of a part. */
  private def over(plan: LogicalPlan, part: LogicalPlan)(e: Expression): Expression = {
    val columns = plan.output.map(_.exprId).zip(part.output).toMap
    e.transform { case a: Attribute => columns.getOrElse(a.exprId, a) }
  }

  /** A column of a projection, with `over` applied to what it computes; it keeps its id. */
  private def column(column: NamedExpression, over: Expression => Expression): NamedExpression = column match {
    case alias: Alias => alias.withNewChildren(Seq(over(alias.child))).asInstanceOf[Alias]
    case other => over(other).asInstanceOf[NamedExpression]
  }

  /** Whether a union, below projections and conditions, has a part with joins of streams. */
  private def holdsJoins(plan: LogicalPlan)(implicit statics: StaticSides): Boolean = plan match {
    case union: Union => union.children.exists(part => ExtractJoinBlock.holdsBlock(part) || holdsJoins(part))
    case Project(_, child) => holdsJoins(child)
    case Filter(_, child) => holdsJoins(child)
    case _ => false
  }
}
