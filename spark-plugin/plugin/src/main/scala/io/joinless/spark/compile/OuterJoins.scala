package io.joinless.spark.compile

import io.joinless.spark.plans.marks.TakenAsRows
import io.joinless.spark.plans.reasons.Reason
import io.joinless.spark.rules.blocks.{Conditions, Names}
import io.joinless.spark.rules.rewrite.JoinBlocks
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.{FullOuter, InnerLike, LeftOuter, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical.{
  Aggregate,
  EventTimeWatermark,
  Filter,
  Join,
  LeafNode,
  LogicalPlan,
  Project,
  SubqueryAlias,
  Union,
  View
}

/** The trees of joins in a plain query that contain a waiting join: LEFT, RIGHT and FULL OUTER
  * JOIN, and LEFT SEMI JOIN.
  *
  * In append mode Spark emits a row without a match once no match can arrive any more: the rows of
  * such a tree are rows that are emitted once they are final
  * ([[io.joinless.spark.compile.streams.Finality]]). So the tree is compiled as if those were
  * requested. The operators above it, and stateful operators in its leaves, are Spark's.
  */
private[compile] object OuterJoins {

  /** Whether a plan has such a tree. */
  def in(plan: LogicalPlan): Boolean = plan.exists(waits)

  /** The plan in which each such tree is replaced, from above; a tree that runs in Spark records
    * why on its join, and the trees inside its joins are tried.
    *
    * @param compiled the replacement of a tree of which some columns are needed, or why there is
    *   none
    */
  def replaced(plan: LogicalPlan)(compiled: (LogicalPlan, Seq[Attribute]) => Either[Reason, LogicalPlan])
      : LogicalPlan = {

    /** Replaces the trees at and below a node of which these columns are needed. */
    def walk(plan: LogicalPlan, needed: AttributeSet): LogicalPlan =
      if (!waits(plan)) plan.mapChildren(child => walk(child, neededOf(child, plan, needed)))
      else if (!relations(plan).forall(isStream)) left(plan, ofState(plan))
      else compiled(plan, plan.output.filter(needed.contains)).fold(left(plan, _), identity)

    /** A tree that runs in Spark, with the reason on its topmost waiting join. */
    def left(tree: LogicalPlan, reason: Reason): LogicalPlan = {
      val kept = inJoin(tree)
      Reason.leave(topWaiting(kept), reason)
      kept
    }

    /** The tree with the trees below its topmost joins replaced: what stands in one of them may be
      * compiled by itself.
      */
    def inJoin(tree: LogicalPlan): LogicalPlan = tree match {
      case join: Join => join.mapChildren(child => walk(child, child.outputSet))
      case other => other.mapChildren(inJoin)
    }

    walk(plan, plan.outputSet)
  }

  /** The relations of a tree, from left to right. */
  def relations(tree: LogicalPlan): Seq[LogicalPlan] = tree match {
    case InTree(children) => children.flatMap(relations)
    case leaf => Seq(leaf)
  }

  /** Whether a waiting join is in the tree of which the plan is the root. */
  private def waits(plan: LogicalPlan): Boolean = plan match {
    case InTree(children) => isWaiting(plan) || children.exists(waits)
    case _ => false
  }

  /** Whether it is a join of streams whose rows can wait for a match. */
  private def isWaiting(plan: LogicalPlan): Boolean = plan match {
    case join: Join => Conditions.joinsStreams(join) && !join.joinType.isInstanceOf[InnerLike]
    case _ => false
  }

  /** A node of a tree, with its children that belong to the tree: static tables do not. Any other
    * node is a leaf of the tree: a source, an operator with state, or a join of another type.
    */
  private object InTree {
    def unapply(plan: LogicalPlan): Option[Seq[LogicalPlan]] = plan match {
      case join: Join if Conditions.joinsStreams(join) =>
        join.joinType match {
          case _: InnerLike | LeftOuter | RightOuter | FullOuter | LeftSemi => Some(join.children)
          case _ => None
        }
      case join: Join if join.joinType.isInstanceOf[InnerLike] && join.isStreaming =>
        Some(join.children.filter(_.isStreaming))
      case _: Project | _: Filter if plan.deterministic && !plan.expressions.exists(SubqueryExpression.hasSubquery) =>
        Some(plan.children)
      case _: SubqueryAlias | _: View => Some(plan.children)
      case _ => None
    }
  }

  /** Whether these are rows of streams, without stateful operators. */
  private def isStream(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: SubqueryAlias | _: View | _: EventTimeWatermark | _: TakenAsRows | _: Union =>
      plan.children.forall(isStream)
    case _: LeafNode => true
    case join: Join => !Conditions.joinsStreams(join) && join.children.forall(isStream)
    case static => !static.isStreaming
  }

  /** The reason that an operator with state is below the tree. */
  private def ofState(tree: LogicalPlan): Reason = {
    val operators = relations(tree).flatMap(_.collect { case node if node.isStreaming && !isStream(node) => node })
    Reason.of(Reason.OuterJoin, "type" -> typeOf(tree), "why" -> s"${Names.called(operators.last)} stands below it")
  }

  /** The type of the topmost waiting join of a tree. */
  def typeOf(tree: LogicalPlan): String = topWaiting(tree).joinType.sql

  /** The topmost waiting join of a tree, which must have one. */
  private def topWaiting(tree: LogicalPlan): Join = tree.collectFirst { case join: Join if isWaiting(join) => join }.get

  /** As for a block; but this plan's columns are not pruned yet. */
  private def neededOf(child: LogicalPlan, parent: LogicalPlan, needed: AttributeSet): AttributeSet = parent match {
    case _: Aggregate => parent.references
    case _: SubqueryAlias => needed
    case _ => JoinBlocks.neededOf(child, parent, needed)
  }
}
