package io.joinless.spark.rules

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/** What a subtree of a block means: its rows are the product of `leaves`, filtered by `conditions`, and its output
  * column `a` is the expression that `output` pairs with `a`. Conditions and expressions are over the leaves'
  * attributes.
  *
  * @param joins the joins of the subtree, outer before inner
  * @param qualifiers the alias under which an attribute of a leaf was first called
  */
final private[rules] case class Part(
    leaves: IndexedSeq[Leaf],
    conditions: IndexedSeq[Expression],
    joins: IndexedSeq[Join],
    output: IndexedSeq[(Attribute, Expression)],
    qualifiers: Map[ExprId, String]
) {

  private lazy val scope: Map[ExprId, Expression] = output.map { case (a, meaning) => a.exprId -> meaning }.toMap

  /** An expression over this subtree's output, over the leaves' attributes. */
  def resolve(expression: Expression): Expression =
    expression.transformUp { case a: AttributeReference => scope.getOrElse(a.exprId, a) }

  def ++(right: Part): Part =
    Part(
      leaves ++ right.leaves,
      conditions ++ right.conditions,
      joins ++ right.joins,
      output ++ right.output,
      right.qualifiers ++ qualifiers
    )

  def joinedBy(join: Join): Part = copy(joins = join +: joins)

  def where(more: Seq[Expression]): Part = copy(conditions = conditions ++ more.map(resolve)).heard(more)

  def select(list: Seq[NamedExpression]): Part = {
    val selected = list.toIndexedSeq.map {
      case a: Alias => a.toAttribute -> resolve(a.child)
      case a => a.toAttribute -> resolve(a)
    }
    heard(list).copy(output = selected)
  }

  private def heard(expressions: Seq[Expression]): Part = {
    val called = for {
      expression <- expressions
      case a: AttributeReference <- expression.collect { case a: AttributeReference => a }
      alias <- a.qualifier.lastOption
      meaning <- scope.get(a.exprId).collect { case m: AttributeReference => m }
    } yield meaning.exprId -> alias
    copy(qualifiers = called.reverse.toMap ++ qualifiers)
  }
}

private[rules] object Part {

  /** A subtree that Spark runs, under fresh attributes. */
  def leaf(plan: LogicalPlan): Part = {
    val columns = plan.output.toIndexedSeq
    val attributes = columns.map(_.newInstance())
    Part(
      IndexedSeq(Leaf("", plan, columns, attributes)),
      IndexedSeq.empty,
      IndexedSeq.empty,
      columns.zip(attributes),
      Map.empty
    )
  }
}
