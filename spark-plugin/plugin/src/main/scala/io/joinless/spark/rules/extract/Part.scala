package io.joinless.spark.rules.extract

import io.joinless.spark.rules.blocks.{Leaf, OuterScope}
import io.joinless.spark.rules.meaning.MadeNames
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}
import org.apache.spark.sql.joinless.KeyBytes

/** A subtree of a block: its rows are the product of `leaves`, filtered by `conditions`, and its
  * output column `a` is the expression that `output` pairs with `a`. Conditions and expressions are
  * over the leaves' attributes.
  *
  * @param joins the joins of the subtree, outer before inner
  * @param qualifiers the first alias of each attribute of a leaf
  * @param keysOfRows keys that Spark's joins, too, evaluate on all rows of a leaf
  */
final private[spark] case class Part(
    leaves: IndexedSeq[Leaf],
    conditions: IndexedSeq[Expression],
    joins: IndexedSeq[Join],
    output: IndexedSeq[(Attribute, Expression)],
    qualifiers: Map[ExprId, String],
    keysOfRows: IndexedSeq[Expression] = IndexedSeq.empty
) {

  private lazy val scope: Map[ExprId, Expression] = output.map { case (a, meaning) => a.exprId -> meaning }.toMap

  /** An expression over this subtree's output, rewritten over the leaves' attributes. */
  def resolve(expression: Expression): Expression = OuterScope.replace(expression)(a => scope.getOrElse(a.exprId, a))

  /** Both parts side by side. Where both have an alias for an attribute, that of this one counts.
    */
  def ++(right: Part): Part =
    Part(
      leaves ++ right.leaves,
      conditions ++ right.conditions,
      joins ++ right.joins,
      output ++ right.output,
      right.qualifiers ++ qualifiers,
      keysOfRows ++ right.keysOfRows
    )

  /** This subtree joined with another one. */
  def joined(right: Part, on: Seq[Expression], join: Join): Part = {
    val both = (this ++ right).where(on)
    both.copy(joins = join +: both.joins, keysOfRows = both.keysOfRows ++ keysOfLeaf(on) ++ right.keysOfLeaf(on))
  }

  /** The sides of equi-join conditions that are evaluated on all rows of this subtree, where it has
    * one stream.
    */
  private def keysOfLeaf(on: Seq[Expression]): Seq[Expression] =
    if (leaves.count(_.plan.isStreaming) > 1) Nil
    else {
      val sides = on.collect { case Equality(l, r) => KeyBytes.unwrapped(l, r) }.flatMap { case (l, r) => Seq(l, r) }
      sides.filter(side => OuterScope.attributes(side).forall(a => scope.contains(a.exprId))).map(resolve)
    }

  /** This part with further conditions, over its output. */
  def where(more: Seq[Expression]): Part = copy(conditions = conditions ++ more.map(resolve)).withAliasesIn(more)

  /** A projection of this part. */
  def select(list: Seq[NamedExpression]): Part = {
    val selected = list.toIndexedSeq.map {
      case a: Alias => a.toAttribute -> resolve(a.child)
      case a => a.toAttribute -> resolve(a)
    }
    withAliasesIn(list).copy(output = selected)
  }

  /** This part with the aliases by which these expressions name attributes of leaves; those that
    * are known, and the first one of an attribute, count.
    */
  private def withAliasesIn(expressions: Seq[Expression]): Part = {
    val found = for {
      expression <- expressions
      a <- OuterScope.attributes(expression)
      alias <- a.qualifier.lastOption
      meaning <- scope.get(a.exprId).collect { case m: AttributeReference => m }
    } yield meaning.exprId -> alias
    copy(qualifiers = found.reverse.toMap ++ qualifiers)
  }
}

private[spark] object Part {

  /** A subtree that Spark runs, under fresh attributes. */
  def leaf(plan: LogicalPlan): Part = {
    val columns = plan.output.toIndexedSeq
    val attributes = columns.map(MadeNames.stable(_, plan).newInstance())
    Part(
      IndexedSeq(Leaf("", plan, columns, attributes)),
      IndexedSeq.empty,
      IndexedSeq.empty,
      columns.zip(attributes),
      Map.empty
    )
  }
}
