package io.joinless.spark.rules

import io.joinless.engine.query.JoinTree
import io.joinless.spark.plans.{BlockSpec, ColumnSpec, JoinFreeJoin, ResultSpec}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, BoundReference, Expression, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.joinless.KeyBytes

/** The plan that takes a block's place: one node, which yields stored columns, and above it what must be computed from
  * them. It has the root's attributes, by their ids; all of them nullable, because NULLs of one batch say nothing of the
  * next.
  */
final class RewriteBlock(layout: BlockLayout) {

  /** The node's columns are the output as it stands: nothing is needed above. */
  private val plain: Boolean =
    layout.late.isEmpty &&
      layout.output.forall(_._2.isInstanceOf[Attribute]) &&
      layout.output.distinctBy(_._1.exprId).size == layout.output.size

  private val columns: IndexedSeq[Attribute] = {
    val used = (layout.output.map(_._2) ++ layout.late).flatMap(_.collect { case a: Attribute => a })
    if (plain) used else used.distinctBy(_.exprId)
  }

  private val attributes: IndexedSeq[Attribute] =
    if (plain) layout.output.map(_._1.withNullability(true))
    else
      columns.map { column =>
        val own = layout.output.collectFirst { case (a, m: Attribute) if m.exprId == column.exprId => a }
        own.getOrElse(column.newInstance()).withNullability(true)
      }

  def spec(ordinal: Int, tree: JoinTree): BlockSpec = layout.spec(ordinal, tree, columns)

  /** What stands above the node, for readers of the checkpoint. */
  def result(texts: SqlTexts): ResultSpec = {
    def positional(expression: Expression) = expression.transform { case a: Attribute =>
      BoundReference(columns.indexWhere(_.exprId == a.exprId), a.dataType, nullable = true)
    }
    ResultSpec(
      layout.output.map { case (a, _) => ColumnSpec(a.name, KeyBytes.asNullable(a.dataType)) },
      layout.output.map { case (_, meaning) => texts.of(positional(meaning)) },
      layout.late.map(condition => texts.of(positional(condition))),
      layout.boundResiduals.map(texts.of),
      texts.confs
    )
  }

  /** @param inner rewrites the blocks inside a leaf */
  def plan(spec: BlockSpec, inner: LogicalPlan => LogicalPlan): LogicalPlan = {
    val leaves = layout.block.leaves.map(leaf => leaf.copy(plan = inner(leaf.plan)))
    val scans = MergeScans(layout.copy(block = layout.block.copy(leaves = leaves)))
    val node = JoinFreeJoin(scans.map(_.plan), scans.map(_.roles), spec, layout.boundResiduals, attributes)
    if (plain) node
    else Project(layout.output.map { case (attribute, meaning) => restored(attribute, meaning) }, filtered(node))
  }

  private def filtered(node: JoinFreeJoin): LogicalPlan =
    layout.late.map(above).reduceOption(Conditions.and).fold[LogicalPlan](node)(Filter(_, node))

  private def above(expression: Expression): Expression = expression.transform { case a: Attribute =>
    attributes(columns.indexWhere(_.exprId == a.exprId))
  }

  private def restored(attribute: Attribute, meaning: Expression): NamedExpression = above(meaning) match {
    case same: Attribute if same.exprId == attribute.exprId => same
    case value =>
      Alias(value, attribute.name)(attribute.exprId, attribute.qualifier, explicitMetadata = Some(attribute.metadata))
  }
}
