package io.joinless.spark.rules.blocks

import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.plans.values.InPlaceOf
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, ExprId, Expression, IsNotNull, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, LogicalPlan, Project}

/** One role in a block: a subplan that Spark runs, under fresh attributes.
  *
  * `attributes(i)` stands for column `columns(i)` of `plan` in every expression of the block.
  * Attributes are fresh because expression ids of the plan need not be unique in a block: a
  * self-join that shares one source has the same ids in several leaves.
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
    OuterScope.replace(expression)(a => columnOf.getOrElse(a.exprId, a))

  /** These columns of the rows that pass these conditions. */
  def scan(columns: Seq[NamedExpression], conditions: Seq[Expression]): LogicalPlan = {
    val list = columns.map {
      case a: Attribute => InPlaceOf(a, own(a))
      case alias: Alias => InPlaceOf(alias, own(alias.child))
      case other => own(other).asInstanceOf[NamedExpression]
    }
    Project(list, conditions.map(own).reduceOption(Conditions.and).map(Filter(_, plan)).getOrElse(plan))
  }
}

/** `left = right`, or `left <=> right` where `nullSafe`, each side over one leaf of its own. */
final case class EquiJoinCondition(left: Term, right: Term, nullSafe: Boolean)

/** A deterministic expression over one leaf. */
final case class Term(leaf: Int, expression: Expression) {

  /** Equal where both terms are the same value of the same leaf. */
  lazy val identity: (Int, Expression) = (leaf, expression.canonicalized)
}

/** A maximal block of streaming inner joins: leaves, and conditions over them. The block's result
  * is the product of its leaves, filtered by all of its conditions, with the columns of `output`.
  *
  * @param root the topmost node, which the block replaces
  * @param joins the inner joins that the block consists of, the topmost first
  * @param filters per leaf, conditions on its rows beyond those inside its plan
  * @param keysOfRows the terms ([[Term.identity]]) that Spark, too, evaluates on all rows of their
  *   leaf: keys of a join of which the leaf is a side
  * @param residuals conditions over several leaves that are no equi-join conditions, and conditions
  *   of one leaf that may fail on rows on which Spark does not check them
  * @param late conditions that only Spark can evaluate (Python UDFs, subqueries): they stay above
  *   the block
  * @param output the needed attributes of the root, each with its expression over the leaves'
  *   attributes
  * @param cuts equi-join conditions that would close a cycle, as conditions on each result of the
  *   others
  * @param summed the sums over results
  * @param groupedBy the terms by which results are grouped, if a sample is kept of each group
  */
final case class JoinBlock(
    root: LogicalPlan,
    joins: IndexedSeq[Join],
    leaves: IndexedSeq[Leaf],
    filters: IndexedSeq[Seq[Expression]],
    equiJoinConditions: IndexedSeq[EquiJoinCondition],
    keysOfRows: Set[(Int, Expression)],
    residuals: IndexedSeq[Expression],
    late: IndexedSeq[Expression],
    output: IndexedSeq[(Attribute, Expression)],
    cuts: IndexedSeq[Expression] = IndexedSeq.empty,
    summed: SummedResults = SummedResults.None,
    groupedBy: IndexedSeq[Term] = IndexedSeq.empty
) {

  /** Keys that can fail, and that Spark computes only for rows that have passed other joins. */
  def earlyKeys: Seq[Term] =
    equiJoinConditions.flatMap(e => Seq(e.left, e.right)).distinctBy(_.identity)
      .filter(key => CanThrow(key.expression) && !keysOfRows(key.identity) && !isChecked(key))

  /** Whether every row of the leaf has passed a condition that computes the key: Spark often infers
    * that it is not NULL.
    */
  private def isChecked(key: Term): Boolean = {
    val leaf = leaves(key.leaf)
    val own = leaf.own(key.expression)
    (filters(key.leaf).map(leaf.own) ++ leaf.plan.constraints).exists {
      case IsNotNull(e) => e.semanticEquals(own)
      case _ => false
    }
  }
}

/** The sums over the results of a block, besides their number: products of columns of its leaves.
  *
  * @param arguments per argument that could be added up, the products that make its sum; None where
  *   it is emitted with each row
  * @param failures factors of results of which an argument fails
  * @param keys per key by which the results are grouped, its attribute in the output, if it is
  *   computed where rows are stored
  * @param hidden attributes of the output that are read by such arguments and keys only
  */
final case class SummedResults(
    arguments: IndexedSeq[Option[Seq[SummedPart]]],
    failures: IndexedSeq[IndexedSeq[Attribute]],
    keys: IndexedSeq[Option[Attribute]],
    hidden: Set[ExprId]
) {

  /** The products, each once for each argument that has it. */
  def products: IndexedSeq[IndexedSeq[Attribute]] = arguments.flatten.flatten.map(_.factors).filter(_.nonEmpty)

  /** The columns of all products, of sums as of failures. */
  def factors: IndexedSeq[Attribute] = (products ++ failures).flatten
}

object SummedResults {

  /** Nothing is added up: all is emitted with each row. */
  val None: SummedResults = SummedResults(IndexedSeq.empty, IndexedSeq.empty, IndexedSeq.empty, Set.empty)
}

/** A product in the sum of an argument.
  *
  * @param factors attributes of one leaf each; without any, it is 1
  * @param numbers how many arguments that are not NULL each result counts for that has all factors
  * @param sums how often the product counts in the sum
  */
final case class SummedPart(factors: IndexedSeq[Attribute], numbers: Int, sums: Int)
