package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}

/** One role in a block: a subplan that Spark runs, under fresh attributes.
  *
  * `attributes(i)` stands for column `columns(i)` of `plan` in every expression of the block. Attributes are fresh
  * because expression ids of the plan need not be unique over a block: a self-join that shares one source has the same
  * ids in several leaves.
  */
final case class Leaf(
    name: String,
    plan: LogicalPlan,
    columns: IndexedSeq[Attribute],
    attributes: IndexedSeq[Attribute]
) {

  private lazy val columnOf = attributes.map(_.exprId).zip(columns).toMap

  /** An expression over this leaf, in terms of its plan. */
  def own(expression: Expression): Expression =
    expression.transform { case a: Attribute => columnOf.getOrElse(a.exprId, a) }

  /** These columns of the rows that pass these conditions. */
  def scan(columns: Seq[NamedExpression], conditions: Seq[Expression]): LogicalPlan = {
    val list = columns.map {
      case a: Attribute => renamed(a, own(a))
      case alias: Alias => renamed(alias, own(alias.child))
      case other => own(other).asInstanceOf[NamedExpression]
    }
    Project(list, conditions.map(own).reduceOption(Conditions.and).map(Filter(_, plan)).getOrElse(plan))
  }

  private def renamed(to: NamedExpression, from: Expression): NamedExpression =
    Alias(from, to.name)(exprId = to.exprId, explicitMetadata = Some(to.metadata))
}

/** `left = right`, or `left <=> right` where `nullSafe`, each side over one leaf of its own. */
final case class Equation(left: Term, right: Term, nullSafe: Boolean)

/** A deterministic expression over one leaf. */
final case class Term(leaf: Int, expression: Expression) {

  /** Equal where both terms are the same value of the same leaf. */
  lazy val identity: (Int, Expression) = (leaf, expression.canonicalized)
}

/** A maximal block of streaming inner joins: leaves, and conditions over them. The block's result is the product of its
  * leaves, filtered by all of its conditions, with the columns of `output`.
  *
  * @param root what the block stands for: the topmost node
  * @param joins the inner joins that the block consists of, the topmost first
  * @param filters per leaf, conditions on its rows beyond those inside its plan
  * @param residuals conditions over several leaves that are no equations
  * @param late conditions that only Spark can evaluate (Python UDFs, subqueries): they stay above the block
  * @param output the attributes of the root that are needed, and what each is over the leaves' attributes
  */
final case class JoinBlock(
    root: LogicalPlan,
    joins: IndexedSeq[Join],
    leaves: IndexedSeq[Leaf],
    filters: IndexedSeq[Seq[Expression]],
    equations: IndexedSeq[Equation],
    residuals: IndexedSeq[Expression],
    late: IndexedSeq[Expression],
    output: IndexedSeq[(Attribute, Expression)]
)
