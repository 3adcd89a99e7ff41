package io.joinless.spark.rules.extract

import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.Names
import io.joinless.spark.rules.blocks.Conditions._
import io.joinless.spark.rules.extract.ExtractJoinBlock.holdsBlock
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}

/** Why a block ends above a leaf that contains joins of streams: an operator between them is
  * nondeterministic, or reads a table that may change ([[StaticSides]]).
  */
private[spark] object BlockEnds {

  /** The first such reason from the leaf's top down; None if nothing ends a block there. */
  def apply(leaf: LogicalPlan)(implicit statics: StaticSides): Option[Reason] = leaf match {
    case InnerJoin(_, _, conditions) if holdsBlock(leaf) => changingTable(conditions)
    case InnerJoin(stream, table, _) if !table.isStreaming => between(stream, table)
    case InnerJoin(table, stream, _) if !table.isStreaming => between(stream, table)
    case Transparent(child) =>
      val own = if (holdsBlock(child)) changingTable(leaf.expressions.flatMap(conjuncts)) else None
      own.orElse(apply(child))
    case Project(list, child) if holdsBlock(child) => list.find(!_.deterministic).map(random)
    case Filter(condition, child) if holdsBlock(child) => conjuncts(condition).find(!_.deterministic).map(random)
    case _ => None
  }

  /** The reason that a table is joined between joins of streams, or the reason that lies below. */
  private def between(stream: LogicalPlan, table: LogicalPlan)(implicit statics: StaticSides): Option[Reason] =
    if (holdsBlock(stream) && !statics.isReadableAnyTime(table)) Some(staticAbove(table)) else apply(stream)

  /** The reason that a subquery of these expressions reads a table that may change. */
  private def changingTable(expressions: Seq[Expression])(implicit statics: StaticSides): Option[Reason] =
    expressions.find(statics.readsChangingTable).flatMap(_.collectFirst { case s: SubqueryExpression =>
      staticAbove(s.plan)
    })

  /** The reason that an expression is nondeterministic. */
  private def random(expression: Expression): Reason =
    Reason.of(Reason.NondeterministicCondition, "expression" -> Names.of(expression))

  /** The reason that a table is joined above joins of streams. */
  private def staticAbove(table: LogicalPlan): Reason =
    Reason.of(Reason.StaticSideAboveJoins, "static" -> Names.ofTable(table))
}
